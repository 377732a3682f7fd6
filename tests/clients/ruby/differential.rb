# frozen_string_literal: true

# Random commands, pipelines, transactions and scripts on a full server, whose refusals are rescued,
# and on one with room: the same replies, and the same data. SEED and STEPS choose the run.
require_relative "client"

WurkRescue.send(:remove_const, :LIMIT)
WurkRescue::LIMIT = 0.0
FULL, ROOMY = %w[FULL_URL ROOMY_URL].map { |name| Connect.to(url: ENV.fetch(name)) }
OLD = ENV["BEFORE_7"] # There scripts have other errors, and one command is not rescued.
SEED = Integer(ENV["SEED"] || rand(10**9))
STEPS = Integer(ENV["STEPS"] || 2_000)
R = Random.new(SEED)

KEYS = ["a", "b", "c", "\xFF\x00\r\n".b, "", "list"].freeze
VALUES = ["", "1", "-5", "2.5", "text", "\x00\xFF\r\n".b, "OOM command not allowed"].freeze
SCRIPTS = [
  "return redis.call('SET', KEYS[1], ARGV[1])",
  "return {redis.call('RPUSH', KEYS[1], ARGV[1]), false, {'x', 1}, 3}",
  "redis.call('HSET', KEYS[1], 'f', ARGV[1]) return redis.call('HGETALL', KEYS[1])",
  "if redis.call('EXISTS', KEYS[1]) == 1 then return {err = 'MINE it is there'} end"
].freeze

def command
  key, other, value = KEYS.sample(random: R), KEYS.sample(random: R), VALUES.sample(random: R)
  kinds = [
    ["SET", key, value], ["SET", key, value, "NX"], ["GET", key], ["INCRBY", key, "7"], ["APPEND", key, value],
    ["HSET", key, "f", value], ["HGETALL", key], ["HMGET", key, "f", "none"], ["HINCRBYFLOAT", key, "f", "0.5"],
    ["LPUSH", key, value, "more"], ["RPUSH", key, value], ["LMOVE", key, other, "LEFT", "RIGHT"],
    ["BRPOPLPUSH", key, other, "1"], ["RPOPLPUSH", key, other], ["LRANGE", key, "0", "-1"], ["LREM", key, "1", value],
    ["SADD", key, value], ["SCARD", key], ["SISMEMBER", key, value], ["ZADD", key, "1.5", value], ["ZADD", key, "INCR", "2", value],
    ["ZSCORE", key, value], ["ZMSCORE", key, value, "none"], ["ZRANGE", key, "0", "-1", "WITHSCORES"],
    ["XADD", "stream", "#{1 + R.rand(65_000)}-1", "f", value], ["XRANGE", "stream", "-", "+"],
    ["XGROUP", "CREATE", "stream", "g", "0", "MKSTREAM"], ["DEL", key], ["EXPIRE", key, "10000"],
    ["MSET", key, value, "m", value], ["GEOPOS", key, "Palermo", "none"], ["COPY", key, other]
  ]
  kinds += [["EVAL", SCRIPTS.sample(random: R), "1", key, value]] * 3 + [["INCRBYFLOAT", key, "0.25"]] unless OLD
  found = kinds.sample(random: R)
  found = ["GET", key] if found[0] == "BRPOPLPUSH" && R.rand(10).positive? # It waits for a second.
  found
end

# Without the place in a script, and the server, that an error names.
def outcome
  yield
rescue Connect::COMMAND_ERROR => e
  [e.class, e.message.b.sub(/ script: .*| \(redis:.*/mn, "")]
end

def run(redis, kind, commands)
  outcome do
    case kind
    when :command then redis.call(*commands[0])
    when :pipeline then Connect.all(redis, :pipelined, *commands)
    else Connect.all(redis, :multi, *commands)
    end
  end
end

[FULL, ROOMY].each do |redis|
  redis.call("FLUSHALL")
  redis.call("SET", "a", "1") # Now the server is known to be full.
end
STEPS.times do |at|
  kind = %i[command command pipeline transaction].sample(random: R)
  commands = Array.new(kind == :command ? 1 : 2 + R.rand(4)) { command }
  commands.reject! { |words| words[0] == "BRPOPLPUSH" } if kind != :command
  next if commands.empty?

  # A second ago is too long to know that the server is full.
  [FULL, ROOMY].each { |redis| redis.call("SET", "now", "full") } if kind != :command
  ours, theirs = [FULL, ROOMY].map { |redis| run(redis, kind, commands) }
  next if ours == theirs

  warn "SEED=#{SEED}, step #{at}: #{kind} #{commands}\n full: #{ours}\nroomy: #{theirs}"
  exit 1
end
digests = [FULL, ROOMY].map { |redis| redis.call("DEBUG", "DIGEST") }
abort "SEED=#{SEED}: the data differ" unless digests.uniq.one?
