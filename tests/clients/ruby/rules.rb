# frozen_string_literal: true

# What is rescued, what is not, and what a caller gets then, on a full server that FULL_URL names.
require "redis"
require "socket"
require "uri"

URL = URI(ENV.fetch("FULL_URL"))
OLD = ENV["BEFORE_7"]
ADMIN = Redis.new(url: URL.to_s)

def limit(percent)
  WurkRescue.send(:remove_const, :LIMIT)
  WurkRescue.const_set(:LIMIT, percent.to_f)
end

# A server with these keys, full or not, of which nothing is known.
def fresh(full: true, port: URL.port, **options)
  ADMIN.config(:set, "maxmemory", "0")
  ADMIN.flushall
  ADMIN.rpush("q", %w[a b])
  ADMIN.set("watched", "before")
  ADMIN.config(:set, "maxmemory", "1") if full
  WurkRescue.instance_variable_get(:@servers).clear
  Redis.new(port: port, **options)
end

def with_room
  ADMIN.config(:set, "maxmemory", "0")
  yield
  ADMIN.config(:set, "maxmemory", "1")
end

def check(what, found)
  raise "#{caller_locations(1, 1)[0].label}: #{what}" unless found
end

def refused(what = "it is refused")
  yield
  raise what
rescue Redis::CommandError => e
  check("#{what}: #{e.message}", WurkRescue.refusal?(e))
  e
end

RULES = {
  "a pipeline keeps its order" => lambda do
    redis = fresh
    refused do
      redis.pipelined do |pipe|
        pipe.set("b", "v")
        pipe.expire("b", 10_000)
        pipe.set("c", "v")
      end
    end
    check("not for ever", redis.exists("b").zero?)
    check("by itself", redis.exists("c") == 1)
    replies = redis.pipelined do |pipe|
      pipe.set("b", "v")
      pipe.expire("b", 10_000)
    end
    check("one script: #{replies}", replies == ["OK", true] && redis.ttl("b") > 9_000)
  end,
  "a transaction is all or nothing" => lambda do
    redis = fresh
    replies = redis.multi do |pipe|
      pipe.set("b", "v")
      pipe.incr("n")
    end
    check(replies, replies == ["OK", 1])
    begin
      redis.multi do |pipe|
        pipe.incr("b")
        pipe.incr("n")
      end
      raise "b is no integer"
    rescue Redis::CommandError => e
      check(e.message, e.message.include?("not an integer"))
    end
    check("it ran", redis.get("n") == "2")
  end,
  "what is watched decides" => lambda do
    redis = fresh
    redis.watch("watched")
    refused("nobody knows how it was") { redis.multi { |pipe| pipe.incr("n") } }
    check("nothing has run", redis.exists("n").zero?)
    changes = [nil, -> { ADMIN.set("watched", "after") }, -> { ADMIN.del("watched") }, -> { ADMIN.expire("watched", 999) }]
    changes.pop if OLD # Nobody can ask for it.
    changes.each do |change|
      with_room do
        ADMIN.set("watched", "before")
        ADMIN.del("n")
      end
      redis.set("k", "v")
      redis.watch("watched", "absent")
      with_room(&change) if change
      replies = redis.multi { |pipe| pipe.incr("n") }
      check([change, replies], change ? replies.nil? : replies == [1])
    end
  end,
  "scripts get the flag" => lambda do
    redis = fresh
    text = "return redis.call('SET', KEYS[1], ARGV[1])"
    sha = Redis.new(url: URL.to_s).script(:load, text)
    WurkRescue.texts.clear # As if another process had loaded it.
    begin
      redis.evalsha(sha, ["k"], ["v"])
      raise "it is asked for the text"
    rescue Redis::CommandError => e
      check(e.message, e.message.start_with?("NOSCRIPT "))
    end
    redis.script(:load, text)
    check("by its text", redis.evalsha(sha, ["k"], ["v"]) == "OK")
    check("EVAL", redis.eval("return redis.call('APPEND', KEYS[1], 'w')", ["k"]) == 2)
    next if OLD

    check("a line of its own", redis.eval("#!lua flags=no-cluster\nreturn redis.call('APPEND', KEYS[1], 'w')", ["k"]) == 3)
    replies = redis.multi do |pipe|
      pipe.incr("n")
      pipe.evalsha(sha, ["m"], ["v"])
    end
    check(replies, replies == [1, "OK"])
  end,
  "the limit stops what grows" => lambda do
    redis = fresh
    limit(10)
    refused { redis.set("k", "v") }
    check("a move", redis.rpoplpush("q", "p") == "b")
    limit(0)
  end,
  "a move waits" => lambda do
    redis = fresh
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    check("a timeout", redis.brpoplpush("empty", "p", timeout: 1).nil?)
    check("the time", Process.clock_gettime(Process::CLOCK_MONOTONIC) - began >= 1)
    push = Thread.new do
      sleep 0.15
      with_room { ADMIN.lpush("empty", "job") }
    end
    check("the job", redis.brpoplpush("empty", "p", timeout: 20) == "job")
    push.join
  end,
  "the caller's own error where no script runs" => lambda do
    fresh
    ADMIN.call(%w[ACL SETUSER limited reset on >secret ~* +@all -eval -evalsha])
    redis = Redis.new(port: URL.port, username: "limited", password: "secret")
    2.times do
      refused { redis.set("k", "v") }
      refused { redis.multi { |pipe| pipe.set("k", "v") } }
      refused { redis.pipelined { |pipe| pipe.set("k", "v") } }
    end
    check("nothing has run", ADMIN.exists("k").zero?)
  end,
  "what redis-rb sends again is not rescued" => lambda do
    proxy = Proxy.new("incr") { ADMIN.config(:set, "maxmemory", "1") }
    redis = fresh(full: false, port: proxy.port, reconnect_attempts: 3)
    refused { redis.incr("n") }
    check([proxy.seen, ADMIN.get("n")], proxy.seen == 2 && ADMIN.get("n") == "1")
  end,
  "a rescue is sent once" => lambda do
    next if OLD # Its first script does not compile, and runs nothing.

    proxy = Proxy.new("eval", 9)
    redis = fresh(port: proxy.port, reconnect_attempts: 3)
    begin
      redis.incr("n")
      raise "no reply, no error"
    rescue Redis::BaseConnectionError
      check([proxy.seen, ADMIN.get("n")], proxy.seen == 1 && ADMIN.get("n") == "1")
    end
  end,
  "nothing more is sent with room" => lambda do
    redis = fresh(full: false)
    redis.ping
    before = ADMIN.info("stats")["total_commands_processed"].to_i
    5.times do
      redis.set("k", "v")
      redis.pipelined do |pipe|
        pipe.set("k", "v")
        pipe.get("k")
      end
      redis.multi { |pipe| pipe.set("k", "v") }
    end
    check("as many", ADMIN.info("stats")["total_commands_processed"].to_i - before == (5 * 6) + 1)
  end,
  "it can be loaded twice" => lambda do
    before = Redis::Client.ancestors
    $VERBOSE = nil
    load File.expand_path("../../../clients/ruby/wurk_rescue.rb", __dir__)
    check("once", Redis::Client.ancestors == before)
  end
}.freeze

# Forwards to the server; cuts a connection instead of the reply to a command, this often.
class Proxy
  attr_reader :port, :seen

  def initialize(name, times = 1, &block)
    @name, @times, @then, @seen = name, times, block, 0
    listener = TCPServer.new("127.0.0.1", 0)
    @port = listener.addr[1]
    Thread.new { loop { Thread.new(listener.accept) { |client| serve(client) } } }
  end

  def serve(client)
    server = TCPSocket.new("127.0.0.1", URL.port)
    loop do
      data = client.readpartial(1 << 20)
      server.write(data)
      named = data.split("\r\n", 4)[2].to_s.casecmp?(@name)
      @seen += 1 if named
      reply = server.readpartial(1 << 20)
      if named && @times.positive?
        @times -= 1
        @then&.call
        break
      end
      client.write(reply)
    end
  rescue EOFError, SystemCallError
    nil
  ensure
    client.close
  end
end

limit(0)
RULES.each do |name, rule|
  rule.call
  puts "ok #{name}"
end
