# frozen_string_literal: true

# A worker that claims, works and acknowledges, and keeps running when Redis is full.
# What is done is acknowledged in one round trip with the next claim.
#
#   ruby examples/worker.rb redis://127.0.0.1/ mail bulk
#
# Promotes the jobs whose retry is due. Ends when every queue is empty; prints each job.
#
# Its only heartbeat is that of WURK.CLAIM, on a full server. One that stays, or whose jobs
# take long, calls `Wurk.beat` from a thread of its own, before another process's reaper
# takes its jobs for those of a dead one.
require "json"
require "redis"
require "securerandom"
require "socket"
require_relative "wurk"

url, *names = ARGV
conn = Redis.new(url: url, reconnect_attempts: 0) # a call whose reply was lost is not sent twice
host, pid, nonce = ENV.fetch("DYNO", Socket.gethostname), Process.pid, SecureRandom.hex(6)
info = JSON.generate(hostname: host, pid: pid, identity: "#{host}:#{pid}:#{nonce}", started_at: Time.now.to_f,
                     tag: "", concurrency: 1, queues: names, weights: [], labels: [], version: "0", embedded: false)
queues = names.map { |name| "queue:#{name}" }
keys = queues.flat_map { |queue| [queue, "#{queue}|#{host}|#{pid}|#{nonce}|0"] }

# Runs the plain command; if the server refuses it for memory, the block, which
# makes the call that does the same on a full server.
def with_fallback(plain)
  plain.call
rescue StandardError => e # what came in a pipeline may be an error of redis-client
  raise unless e.message.start_with?("OOM", "ERR Out of memory")

  yield e
end

# The queue that a job names, if it is JSON and names one.
def queue_of(job)
  name = JSON.parse(job)["queue"]
  name.is_a?(String) ? "queue:#{name.delete_prefix('queue:')}" : "queue:default"
rescue StandardError
  "queue:default"
end

# Moves the jobs whose retry is due to their queues; of several workers one moves each.
promote = lambda do
  kept = 0 # jobs that stay in the set
  loop do # never refused: it only reads
    due = conn.call("ZRANGEBYSCORE", "retry", "-inf", Time.now.to_f.to_s, "LIMIT", kept.to_s, "100")
    break if due.empty?

    due.each do |job|
      Wurk.promote(conn, nil, "retry", queue_of(job), job)
    rescue StandardError => e
      raise unless e.message.start_with?("WRONGTYPE")

      warn "#{queue_of(job)}: #{e.message}" # whatever else is due must not wait for this key
      kept += 1
    end
  end
end

done = [] # to be acknowledged
next_job = ->(oom) { Wurk.acknowledge_and_claim(conn, oom, done, keys: keys, info: info, beat: Time.now.to_f) }

promoted, full = 0, nil
loop do
  if Time.now.to_f >= promoted + 1
    promote.call
    promoted, full = Time.now.to_f, nil # a full server is asked for the plain claim once a second
  end
  index, job = with_fallback(-> { next_job.call(full) }) { |oom| next_job.call(full = oom) }
  break unless job

  private_list = keys[2 * index - 1]
  begin
    raise "a job that fails" if job.include?('"fails"')

    puts job
  rescue RuntimeError
    at = (Time.now.to_f + 30).to_s
    with_fallback(-> { conn.call("ZADD", "retry", at, job) }) { |oom| Wurk.zadd(conn, oom, "retry", at, job) }
  end
  done << [private_list, job]
end
done.each { |private_list, job| conn.call("LREM", private_list, "1", job) } # what was refused so far
