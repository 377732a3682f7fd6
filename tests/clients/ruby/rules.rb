# frozen_string_literal: true

# What is rescued, what is not, and what a caller gets then, on a full server that FULL_URL names.
require "socket"
require "uri"
require_relative "client"

URL = URI(ENV.fetch("FULL_URL"))
OLD = ENV["BEFORE_7"]
ADMIN = Connect.to(url: URL.to_s)

def limit(percent)
  WurkRescue.send(:remove_const, :LIMIT)
  WurkRescue.const_set(:LIMIT, percent.to_f)
end

def maxmemory(bytes)
  ADMIN.call("CONFIG", "SET", "maxmemory", bytes.to_s)
end

# A server with these keys, full or not, of which nothing is known.
def fresh(full: true, port: URL.port, **options)
  maxmemory(0)
  ADMIN.call("FLUSHALL")
  ADMIN.call("RPUSH", "q", "a", "b")
  ADMIN.call("SET", "watched", "before")
  maxmemory(1) if full
  WurkRescue.instance_variable_get(:@servers).clear
  Connect.to(host: "127.0.0.1", port: port, **options)
end

def with_room
  maxmemory(0)
  yield
  maxmemory(1)
end

def check(what, found)
  raise "#{caller_locations(1, 1)[0].label}: #{what}" unless found
end

def refused(what = "it is refused")
  yield
  raise what
rescue Connect::COMMAND_ERROR => e
  check("#{what}: #{e.message}", e.message.start_with?("OOM "))
  e
end

def absent?(key)
  ADMIN.call("EXISTS", key).zero?
end

RULES = {
  "a pipeline keeps its order" => lambda do
    redis = fresh
    refused { Connect.all(redis, :pipelined, %w[SET b v], %w[EXPIRE b 10000], %w[SET c v]) }
    check("not for ever", absent?("b"))
    check("by itself", !absent?("c"))
    replies = Connect.all(redis, :pipelined, %w[SET b v], %w[EXPIRE b 10000])
    check("one script: #{replies}", replies == ["OK", 1] && ADMIN.call("TTL", "b") > 9_000)
  end,
  "a pipeline's other errors stay" => lambda do
    redis = fresh
    2.times do # Refused first, and one script then.
      Connect.all(redis, :pipelined, %w[SET b v], %w[INCR q], %w[SET c v])
      raise "q is a list"
    rescue Connect::COMMAND_ERROR => e
      check(e.message, e.message.start_with?("WRONGTYPE "))
      check("both", !absent?("b") && !absent?("c"))
      check("its command", e.command == %w[INCR q]) if Connect::REDIS_CLIENT
    end
  end,
  "a transaction is all or nothing" => lambda do
    redis = fresh
    replies = Connect.all(redis, :multi, %w[SET b v], %w[INCR n])
    check(replies, replies == ["OK", 1])
    begin
      Connect.all(redis, :multi, %w[INCR b], %w[INCR n])
      raise "b is no integer"
    rescue Connect::COMMAND_ERROR => e
      check(e.message, e.message.include?("not an integer"))
    end
    check("it ran", redis.call("GET", "n") == "2")
    refused { Connect.all(redis, :multi, %w[SET c v], %w[GET]) }
    check("one has an error of its own", absent?("c"))
  end,
  "what is watched decides" => lambda do
    redis = fresh
    redis.call("WATCH", "watched")
    refused("nobody knows how it was") { Connect.all(redis, :multi, %w[INCR n]) }
    check("nothing has run", absent?("n"))
    changes = [nil, -> { ADMIN.call("SET", "watched", "after") }, -> { ADMIN.call("DEL", "watched") },
               -> { ADMIN.call("EXPIRE", "watched", "999") }]
    changes.pop if OLD # Nobody can ask for it.
    %w[WATCH watch].product(changes).each do |watch, change|
      with_room do
        ADMIN.call("SET", "watched", "before")
        ADMIN.call("DEL", "n")
      end
      redis.call("SET", "k", "v")
      redis.call(watch, "watched", "absent")
      with_room(&change) if change
      replies = Connect.all(redis, :multi, %w[INCR n])
      # redis-client has no reply for what did not run.
      check([watch, change, replies], change ? replies.nil? : replies == [1])
    end
  end,
  "what was watched is so until the transaction" => lambda do
    redis = fresh
    redis.call("SET", "k", "v")
    redis.call("WATCH", "watched")
    replies = Connect.all(redis, :multi, ["EVAL", "return redis.call('INCR', KEYS[1])", "1", "n"])
    check("one script: #{replies}", replies == [1])
    with_room do
      ADMIN.call("SET", "watched", "after")
      check("not in the next", Connect.all(redis, :multi, %w[INCR n]) == [2])
    end
  end,
  "what was watched in a pipeline is not known" => lambda do
    redis = fresh
    Connect.all(redis, :pipelined, %w[WATCH watched], %w[GET watched])
    refused { Connect.all(redis, :multi, %w[INCR n]) }
  end,
  "what was watched goes with its connection" => lambda do
    redis = fresh(reconnect_attempts: 1)
    redis.call("SET", "k", "v")
    redis.call("WATCH", "watched")
    ADMIN.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    ADMIN.call("DEL", "watched")
    redis.call("PING")
    check("another connection's", Connect.all(redis, :multi, %w[INCR n]) == [1])
  end,
  "scripts get the flag" => lambda do
    redis = fresh
    text = "return redis.call('SET', KEYS[1], ARGV[1])"
    sha = Connect.to(url: URL.to_s).call("SCRIPT", "LOAD", text)
    WurkRescue.texts.clear # As if another process had loaded it.
    begin
      redis.call("EVALSHA", sha, "1", "k", "v")
      raise "it is asked for the text"
    rescue Connect::COMMAND_ERROR => e
      check(e.message, e.message.start_with?("NOSCRIPT "))
    end
    redis.call("SCRIPT", "LOAD", text)
    check("by its text", redis.call("EVALSHA", sha, "1", "k", "v") == "OK")
    check("EVAL", redis.call("EVAL", "return redis.call('APPEND', KEYS[1], 'w')", "1", "k") == 2)
    next if OLD

    own = "#!lua flags=no-cluster\nreturn redis.call('APPEND', KEYS[1], 'w')"
    check("a line of its own", redis.call("EVAL", own, "1", "k") == 3)
    replies = Connect.all(redis, :multi, %w[INCR n], ["EVALSHA", sha, "1", "m", "v"])
    check(replies, replies == [1, "OK"])
  end,
  "the limit stops what grows" => lambda do
    redis = fresh
    limit(10)
    refused { redis.call("SET", "k", "v") }
    check("a move", redis.call("RPOPLPUSH", "q", "p") == "b")
    limit(0)
  end,
  "a move waits" => lambda do
    redis = fresh
    wait = lambda do |seconds|
      next redis.brpoplpush("empty", "p", timeout: seconds) unless Connect::REDIS_CLIENT

      redis.blocking_call(seconds, "BRPOPLPUSH", "empty", "p", seconds)
    end
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    check("a timeout", wait.call(1).nil?)
    check("the time", Process.clock_gettime(Process::CLOCK_MONOTONIC) - began >= 1)
    push = Thread.new do
      sleep 0.15
      with_room { ADMIN.call("LPUSH", "empty", "job") }
    end
    check("the job", wait.call(20) == "job")
    push.join
    next unless Connect::REDIS_CLIENT

    # With room again the server waits, longer than the client does for other commands.
    redis = fresh(timeout: 0.3)
    Thread.new { sleep(0.2) && maxmemory(0) }
    replies = redis.pipelined { |pipe| pipe.blocking_call(1, "BRPOPLPUSH", "empty", "p", 1) }
    check(replies, replies == [nil])
  end,
  "the caller's own error where no script runs" => lambda do
    fresh
    ADMIN.call(*%w[ACL SETUSER limited reset on >secret ~* +@all -eval -evalsha])
    redis = Connect.to(host: "127.0.0.1", port: URL.port, username: "limited", password: "secret")
    2.times do
      refused { redis.call("SET", "k", "v") }
      refused { Connect.all(redis, :multi, %w[SET k v]) }
      refused { Connect.all(redis, :pipelined, %w[SET k v]) }
    end
    check("nothing has run", absent?("k"))
  end,
  "what the client sends again is not rescued" => lambda do
    [%w[INCR n], [%w[INCR n], %w[INCR m]]].each do |words|
      proxy = Proxy.new("incr") do
        maxmemory(1)
        # Another thread may know that it is full: a pipeline would be a script from the start.
        WurkRescue.instance_variable_get(:@servers).each_value(&:refused)
      end
      redis = fresh(full: false, port: proxy.port, reconnect_attempts: 3)
      Connect.all(redis, :pipelined, %w[GET n], %w[GET n])
      refused { words[0].is_a?(Array) ? Connect.all(redis, :pipelined, *words) : redis.call(*words) }
      check([proxy.seen, ADMIN.call("GET", "n")], proxy.seen == 2 && ADMIN.call("GET", "n") == "1")
    end
  end,
  "nor is it when the new connection is lost as well" => lambda do
    proxy = Proxy.new("incr") do
      maxmemory(1)
      proxy.cut(1, "hello") if proxy.seen == 1
    end
    redis = fresh(full: false, port: proxy.port, reconnect_attempts: 3)
    refused { redis.call("INCR", "n") }
    check("once", ADMIN.call("GET", "n") == "1")
  end,
  "a rescue is sent once" => lambda do
    next if OLD # Its first script does not compile, and runs nothing.

    proxy = Proxy.new("eval", 9)
    redis = fresh(port: proxy.port, reconnect_attempts: 3)
    begin
      redis.call("INCR", "n")
      raise "no reply, no error"
    rescue Connect::LOST
      check([proxy.seen, ADMIN.call("GET", "n")], proxy.seen == 1 && ADMIN.call("GET", "n") == "1")
    end
    begin
      Connect.all(redis, :pipelined, %w[INCR n], %w[INCR n])
      raise "no reply, no error"
    rescue Connect::LOST
      check([proxy.seen, ADMIN.call("GET", "n")], proxy.seen == 2 && ADMIN.call("GET", "n") == "3")
    end
    unless Connect::REDIS_CLIENT
      with_room { ADMIN.call("RPUSH", "q", "1", "2") }
      begin
        redis.brpoplpush("q", "p", timeout: 1)
        raise "no reply, no error"
      rescue Connect::LOST
        check([proxy.seen, ADMIN.call("LLEN", "p")], proxy.seen == 3 && ADMIN.call("LLEN", "p") == 1)
      end
    end
    proxy.cut(0)
    check("it goes on", redis.call("INCR", "n") == 4)
  end,
  "nothing more is sent with room" => lambda do
    redis = fresh(full: false)
    redis.call("PING")
    stats = -> { ADMIN.call("INFO", "stats")[/total_commands_processed:(\d+)/, 1].to_i }
    before = stats.call
    5.times do
      redis.call("SET", "k", "v")
      Connect.all(redis, :pipelined, %w[SET k v], %w[GET k])
      Connect.all(redis, :multi, %w[SET k v])
    end
    check("as many", stats.call - before == (5 * 6) + 1)
  end,
  "replies are as the client gives them" => lambda do
    redis = fresh
    next if Connect::REDIS_CLIENT # The random commands compare its types.

    check("hash", redis.hset("h", "f", "1") == 1 && redis.hgetall("h") == { "f" => "1" })
    check("float", redis.zadd("z", 1.5, "m") == true && redis.zincrby("z", 1, "m") == 2.5)
    typed = redis.pipelined do |pipe|
      pipe.zadd("z", 1, "other")
      pipe.zscore("z", "other")
      pipe.expire("z", 100)
    end
    check(typed, typed == [true, 1.0, true])
    check("transaction", redis.multi { |pipe| pipe.zadd("z", 3, "third") } == [true])
  end,
  "it can be loaded twice" => lambda do
    types = Connect::REDIS_CLIENT || Redis::VERSION.to_i > 4 ? [RedisClient::RubyConnection] : [Redis::Client]
    before = types.map(&:ancestors)
    $VERBOSE = nil
    load File.expand_path("../../../clients/ruby/wurk_rescue.rb", __dir__)
    check("once", types.map(&:ancestors) == before)
  end
}.freeze

# Forwards to the server; cuts a connection instead of the reply to a command, this often.
class Proxy
  attr_reader :port, :seen

  def cut(times, name = @name)
    @times, @name = times, name
  end

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
