# frozen_string_literal: true

# Keeps the workers of a Sidekiq-compatible library running when Redis is full:
# seven calls, each of which takes the connection and the OOM error that the plain
# command was refused with. A call uses the first strategy that the server has:
#
# 1. :module, the command of the wurk module
# 2. :script, flagged `allow-oom` (7.0 and later)
# 3. :write_first, the script after a write that changes nothing (before 7.0)
# 4. :original_error, which raises the caller's own error, the same object. A caller
#    that passed nil gets the server's error.
#
# Every other error is the result of the call and is raised unchanged.
#
# Nothing is sent again whose reply was lost, unless the connection does so by
# itself: create it with `reconnect_attempts: 0`, or the job of the first claim
# stays in the private list. A connection needs only `call(*command)`, which the
# redis and the redis-client gem have (tested with the redis gem), and for
# `acknowledge_and_claim` a `pipelined` that can return errors: redis before 5.0 or
# from 5.2 on, redis-client from 0.22 on.
#
# A connection with a namespace (the redis-namespace gem) is refused: `call` does
# not add the namespace, and if it were added to the keys, the set of all processes
# would hold a name with the namespace in it. Pass the inner connection,
# `conn.redis`, and whole names.
#
# The file is self-contained: the scripts at its end are client/lua/*.lua.
module Wurk
  CACHE_TTL = 60 # seconds until better strategies are tried again
  TTL = 60 # seconds that a process lives without another heartbeat

  module_function

  # Takes the next job, and writes the heartbeat of the process.
  #
  # keys: public, private, public, private, ... The identity is read from the name
  # of the private list, `<public>|<host>|<pid>|<nonce>|<index>`, unless given.
  # Returns [index, payload], index being the number of the pair, from 1; nil if
  # every public list is empty.
  def claim(conn, error, keys:, info:, beat:, processes: "processes", identity: identity_of(keys), ttl: TTL)
    return nil if keys.empty?

    run(conn, error, "WURK.CLAIM", [processes, identity, *keys], [info.to_s, beat.to_s, ttl.to_s])
  end

  # Acknowledges jobs and takes the next one, in one round trip: LREM and the claim are
  # sent together, without MULTI.
  #
  # done: [private, payload] of each job. error: if nil, the claim is the plain one, LMOVE
  # of one pair after another, the first of them in the round trip; if it is refused with
  # OOM, call again with that error. The rest is as in `claim`.
  #
  # What became of an LREM does not change the result. Afterwards `done` holds what the
  # server refused to acknowledge, to be sent again with the next claim. After a lost
  # connection it is empty, and any part may have run: look into the private lists.
  def acknowledge_and_claim(conn, error, done, keys:, info:, beat:,
                            processes: "processes", identity: identity_of(keys), ttl: TTL)
    return nil if keys.empty?

    args = [info.to_s, beat.to_s, ttl.to_s]
    return run(conn, error, "WURK.CLAIM", [processes, identity, *keys], args, done) if error

    refuse_namespace(conn, "LMOVE")
    keys.each_slice(2).with_index(1) do |(public_q, private_list), index|
      job = acknowledge_and_call(conn, done, ["LMOVE", public_q, private_list, "RIGHT", "LEFT"])
      return [index, job] if job
    end
    nil
  end

  # Acquires the lock `key` for this many milliseconds: "OK", or nil while it is held.
  def lock(conn, error, key, ttl_ms)
    run(conn, error, "WURK.LOCK", [key], [ttl_ms.to_s])
  end

  # Gives a job back to its queue: 1, or 0 if it is no longer in the private list.
  def requeue(conn, error, private_list, public_q, job)
    run(conn, error, "WURK.REQUEUE", [private_list, public_q], [job])
  end

  # Adds a member to a sorted set: 1 if added, 0 if only its score was updated.
  def zadd(conn, error, key, score, member)
    run(conn, error, "WURK.ZADD", [key], [score.to_s, member])
  end

  # Moves a due job from a sorted set to its queue: 1, or 0 if it is no longer in the
  # set. There it is `payload`, if that is given.
  def promote(conn, error, scheduled, public_q, job, payload = nil)
    run(conn, error, "WURK.PROMOTE", [scheduled, public_q], [job, payload].compact)
  end

  # Writes the heartbeat of the process without a claim: "OK".
  def beat(conn, error, identity, info:, beat:, processes: "processes", ttl: TTL)
    run(conn, error, "WURK.BEAT", [processes, identity], [info.to_s, beat.to_s, ttl.to_s])
  end

  def identity_of(keys)
    return nil if keys.empty?

    *, host, pid, nonce, _index = keys[1].to_s.b.split("|")
    raise ArgumentError, "no identity in the private list's name: #{keys[1]}" unless host && pid && nonce

    "#{host}:#{pid}:#{nonce}"
  end
  private_class_method :identity_of

  def refuse_namespace(conn, command)
    return unless conn.respond_to?(:namespace)

    raise ArgumentError, "#{command}: Wurk takes no connection with a namespace, give it `conn.redis` and whole names"
  end
  private_class_method :refuse_namespace

  def run(conn, error, command, keys, args, done = [])
    refuse_namespace(conn, command)
    strategy = cached_strategy(command)
    loop do
      reply = acknowledge_and_call(conn, done, request(strategy, command, keys, args))
      cache(command, strategy)
      return reply
    rescue StandardError => e
      fallback = fallback_from(strategy, command, e.message.b) # it may contain any bytes
      if fallback == :original_error
        cache(command, strategy)
        raise error || e
      end
      raise e unless fallback

      strategy = fallback
    end
  end
  private_class_method :run

  # The reply to a command that is sent together with the acknowledgements.
  def acknowledge_and_call(conn, done, command)
    return conn.call(*command) if done.empty?

    sent = done.shift(done.size) # if the replies are lost, it must not be sent again
    acknowledgements = sent.map { |private_list, job| ["LREM", private_list, "1", job] }
    *replies, reply = pipelined(conn, [*acknowledgements, command])
    sent.zip(replies) { |job, refused| done << job if refused.is_a?(StandardError) }
    raise reply if reply.is_a?(StandardError)

    reply
  end
  private_class_method :acknowledge_and_call

  # The replies to commands that are sent together, errors among them: those of
  # redis-client, if the redis gem is built on it (from 5.0 on).
  def pipelined(conn, commands)
    # Before 5.0 `pipelined` of the redis gem raises the first error, and what was claimed
    # is lost with the other replies.
    if conn.respond_to?(:_client) && conn._client.respond_to?(:process)
      return conn.send(:synchronize) { |client| client.process(commands) { commands.map { client.read } } }
    end

    conn.pipelined(exception: false) { |pipeline| commands.each { |command| pipeline.call(*command) } }
  end
  private_class_method :pipelined

  def request(strategy, command, keys, args)
    return [command, *keys, *args] if strategy == :module

    text = SCRIPTS.fetch(command)
    text = WRITE_FIRST + text.lines.drop(1).join if strategy == :write_first
    ["EVAL", text, keys.size.to_s, *keys, *args]
  end
  private_class_method :request

  # The strategy to try after this error, :original_error if none is left; nil if the
  # error is the result of the call.
  def fallback_from(strategy, command, message)
    case strategy
    when :module
      :script if unknown?(message, command)
    when :script
      no_scripts?(message) ? :original_error : (:write_first if cannot_compile?(message) || oom?(message))
    else
      :original_error if no_scripts?(message) || cannot_compile?(message) || oom?(message)
    end
  end
  private_class_method :fallback_from

  # Whether a server, or a proxy, does not know this very command; docs/clients.md
  # lists the texts. Nothing after the name is read: the caller's own bytes may
  # follow it.
  def unknown?(message, command)
    name = Regexp.escape(command)
    ends = '(?=\z| \()' # newer gems append the server's address
    message.match?(/\A(?:ERR unknown|ERR unknown or unsupported|(?:ERR )?unsupported) command (?:(['`"])#{name}\1|#{name}(?=[ ,]|\z))/i) ||
      message.match?(/\AERR (?:unknown command|command (['`"]?)#{name}\1 not support)#{ends}/i)
  end
  private_class_method :unknown?

  def no_scripts?(message)
    unknown?(message, "EVAL") ||
      message.match?(/\AERR (?:Could not find scripting engine|This instance has Lua scripting support disabled)/) ||
      message.match?(/\AERR command ['`"]?eval['`"]? not support|\ANOPERM .*no permissions to run the 'eval' command/i) ||
      inner(message).match?(/\A(?:The user executing the script can't run this command|ACL failure in script: User .* has no permissions to run the ')/)
  end
  private_class_method :no_scripts?

  def cannot_compile?(message)
    message.match?(/\A[^'`"]*unexpected symbol near '#'|\AERR Unexpected flag in script shebang|\AERR allow-oom is not supported/)
  end
  private_class_method :cannot_compile?

  def oom?(message)
    message.match?(/\A(?:OOM |ERR Out of memory)/) || inner(message).match?(/\A-?(?:OOM |Out of memory)/)
  end
  private_class_method :oom?

  # The error without its code, and before 7.0 without the script's line numbers.
  def inner(message)
    message.sub(/\A(?:ERR Error running script.*?\): (?:@user_script[\d: ]+)*|(?:@user_script[\d: ]+)+|ERR )/, "")
  end
  private_class_method :inner

  # The strategy that worked, by command, and when that was found out. All
  # connections share it: one to another server falls back again at its first call.
  CACHE = {}
  private_constant :CACHE

  def cached_strategy(command)
    strategy, since = CACHE[command]
    strategy && now - since < CACHE_TTL ? strategy : :module
  end
  private_class_method :cached_strategy

  def cache(command, strategy)
    # Not renewed at each call: the minute begins when the strategy was found.
    CACHE[command] = [strategy, now] unless strategy == cached_strategy(command)
  end
  private_class_method :cache

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
  private_class_method :now

  # From client/lua/, by tools/embed.
  WRITE_FIRST = <<~'LUA'
    -- Replaces the first line of a script on servers before 7.0: a write that a full
    -- server permits and that changes nothing, whatever type the key has. After its
    -- first write such a server does not check a script for memory again.
    --
    -- If the server refuses this write (READONLY, MISCONF, NOREPLICAS), its error is
    -- the script's reply. Effects are replicated instead of the script, because the
    -- scripts read the clock; older servers need the call for that.
    if redis.replicate_commands then redis.replicate_commands() end
    local refused = redis.pcall('ZREMRANGEBYRANK', KEYS[1], 1, 0)
    if type(refused) == 'table' and not refused.err:find('WRONGTYPE ', 1, true) then return refused end
  LUA

  SCRIPTS = {
    "WURK.BEAT" => <<~'LUA',
      #!lua flags=allow-oom
      -- Writes the heartbeat of the calling process, as claim.lua does.
      --
      -- KEYS     processes identity
      --          the set of all processes, and the hash of this one
      -- ARGV     info beat ttl
      --          two fields of the hash, and its time to live in seconds
      -- Replies  OK
      -- Effects  HSET identity info, SADD processes identity  if there is no hash
      --          HSET identity beat, EXPIRE identity ttl      always
      -- Errors   for an argument, the set or the hash: nothing has been written

      if #KEYS ~= 2 or #ARGV ~= 3 then
        return redis.error_reply("ERR wrong number of arguments for 'wurk.beat' command")
      end
      local processes, identity = KEYS[1], KEYS[2]
      local info, beat, ttl = ARGV[1], ARGV[2], ARGV[3]

      -- Everything is checked before the first write. Numbers in Lua have 53 bits, the
      -- server's have 64: the digits are compared instead.
      local sign, digits = ttl:match('^(%-?)([1-9]%d*)$')
      if ttl == '0' then sign, digits = '', '0' end
      local most = sign == '-' and '9223372036854775808' or '9223372036854775807'
      if not digits or #digits > 19 or (#digits == 19 and digits > most) then
        return redis.error_reply('ERR value is not an integer or out of range')
      end
      -- ttl * 1000 + now must not pass 9223372 036854775 807; the first two groups
      -- are compared as one number is, from the left.
      local now = redis.call('TIME')
      local latest = 36854775 - tonumber(now[1]) - (tonumber(now[2]) >= 808000 and 1 or 0)
      local high, low = tonumber(digits:sub(1, -10)) or 0, tonumber(digits:sub(-9))
      if sign == '-' or digits == '0' or (high - 9223372) * 1000000000 + low > latest then
        return redis.error_reply("ERR invalid expire time in 'wurk.beat' command")
      end

      local set, hash = redis.call('TYPE', processes).ok, redis.call('TYPE', identity).ok
      local new = hash == 'none'
      if (set ~= 'set' and set ~= 'none') or (hash ~= 'hash' and not new)
        or (new and processes == identity) then
        return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
      end

      if new then
        redis.call('HSET', identity, 'info', info)
        redis.call('SADD', processes, identity)
      end
      redis.call('HSET', identity, 'beat', beat)
      redis.call('EXPIRE', identity, ttl)
      return redis.status_reply('OK')
    LUA
    "WURK.CLAIM" => <<~'LUA',
      #!lua flags=allow-oom
      -- Moves the tail of the first public list that holds a job to the head of the
      -- private list paired with it, and writes the heartbeat of the calling process.
      --
      -- KEYS     processes identity public private [public private ...]
      --          the set of all processes, the hash of this one, and pairs of a queue
      --          and this process's list of jobs in flight
      -- ARGV     info beat ttl
      --          two fields of the hash, and its time to live in seconds
      -- Replies  {n, job}, n being the number of the pair from 1; nil if every public
      --          list is empty
      -- Effects  HSET identity info, SADD processes identity  if there is no hash
      --          HSET identity beat, EXPIRE identity ttl      always
      --          LMOVE public private RIGHT LEFT              if there is a job
      -- Errors   for an argument, the set or the hash: nothing has been written;
      --          WRONGTYPE for a list: the heartbeat has been written, no job has moved

      if #KEYS < 4 or #KEYS % 2 == 1 or #ARGV ~= 3 then
        return redis.error_reply("ERR wrong number of arguments for 'wurk.claim' command")
      end
      local processes, identity = KEYS[1], KEYS[2]
      local info, beat, ttl = ARGV[1], ARGV[2], ARGV[3]

      -- Everything is checked before the first write. Numbers in Lua have 53 bits, the
      -- server's have 64: the digits are compared instead.
      local sign, digits = ttl:match('^(%-?)([1-9]%d*)$')
      if ttl == '0' then sign, digits = '', '0' end
      local most = sign == '-' and '9223372036854775808' or '9223372036854775807'
      if not digits or #digits > 19 or (#digits == 19 and digits > most) then
        return redis.error_reply('ERR value is not an integer or out of range')
      end
      -- ttl * 1000 + now must not pass 9223372 036854775 807; the first two groups
      -- are compared as one number is, from the left.
      local now = redis.call('TIME')
      local latest = 36854775 - tonumber(now[1]) - (tonumber(now[2]) >= 808000 and 1 or 0)
      local high, low = tonumber(digits:sub(1, -10)) or 0, tonumber(digits:sub(-9))
      if sign == '-' or digits == '0' or (high - 9223372) * 1000000000 + low > latest then
        return redis.error_reply("ERR invalid expire time in 'wurk.claim' command")
      end

      local set, hash = redis.call('TYPE', processes).ok, redis.call('TYPE', identity).ok
      local new = hash == 'none'
      if (set ~= 'set' and set ~= 'none') or (hash ~= 'hash' and not new)
        or (new and processes == identity) then
        return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
      end

      if new then
        redis.call('HSET', identity, 'info', info)
        redis.call('SADD', processes, identity)
      end
      redis.call('HSET', identity, 'beat', beat)
      redis.call('EXPIRE', identity, ttl)

      for i = 3, #KEYS, 2 do
        local job = redis.pcall('LMOVE', KEYS[i], KEYS[i + 1], 'RIGHT', 'LEFT')
        if type(job) == 'table' then return job end -- an error
        if job then return {(i - 1) / 2, job} end
      end
      return nil
    LUA
    "WURK.LOCK" => <<~'LUA',
      #!lua flags=allow-oom
      -- Acquires a lock that expires. It has no owner: DEL key releases it.
      --
      -- KEYS     key
      -- ARGV     ttl, in milliseconds
      -- Replies  OK, or nil while it is held
      -- Effects  SET key 1 NX PX ttl
      -- Errors   those of SET for a ttl: nothing has been written

      if #KEYS ~= 1 or #ARGV ~= 1 then
        return redis.error_reply("ERR wrong number of arguments for 'wurk.lock' command")
      end
      return redis.pcall('SET', KEYS[1], 1, 'NX', 'PX', ARGV[1])
    LUA
    "WURK.PROMOTE" => <<~'LUA',
      #!lua flags=allow-oom
      -- Moves a job from a sorted set to the end of its public list that is claimed last.
      --
      -- KEYS     scheduled public
      --          the sorted set that the job waits in, and its queue
      -- ARGV     job [payload]
      --          the member, and what stands for it in the queue
      -- Replies  1, or 0 if the job is no longer in the set
      -- Effects  LPUSH public payload, then ZREM scheduled job: the job is in the list
      --          before it leaves the set
      -- Errors   WRONGTYPE if the keys are not a sorted set and a list: nothing has been
      --          written

      if #KEYS ~= 2 or #ARGV < 1 or #ARGV > 2 then
        return redis.error_reply("ERR wrong number of arguments for 'wurk.promote' command")
      end
      local scheduled, public, job, payload = KEYS[1], KEYS[2], ARGV[1], ARGV[2] or ARGV[1]

      local list = redis.call('TYPE', public).ok
      if list ~= 'list' and list ~= 'none' then
        return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
      end
      local score = redis.pcall('ZSCORE', scheduled, job)
      if type(score) == 'table' then return score end -- an error
      if not score then return 0 end

      redis.call('LPUSH', public, payload)
      redis.call('ZREM', scheduled, job)
      return 1
    LUA
    "WURK.REQUEUE" => <<~'LUA',
      #!lua flags=allow-oom
      -- Moves a job from a private list back to the end of its public list that is
      -- claimed next.
      --
      -- KEYS     private public
      -- ARGV     job
      -- Replies  1, or 0 if the job is no longer in the private list
      -- Effects  RPUSH public job, then LREM private 1 job: the job is in one list
      --          before it leaves the other
      -- Errors   WRONGTYPE if either key is not a list: nothing has been written

      if #KEYS ~= 2 or #ARGV ~= 1 then
        return redis.error_reply("ERR wrong number of arguments for 'wurk.requeue' command")
      end
      local private, public, job = KEYS[1], KEYS[2], ARGV[1]

      local list = redis.call('TYPE', public).ok
      if list ~= 'list' and list ~= 'none' then
        return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
      end
      local at = redis.pcall('LPOS', private, job)
      if type(at) == 'table' then return at end -- an error
      if not at then return 0 end

      redis.call('RPUSH', public, job)
      redis.call('LREM', private, 1, job)
      return 1
    LUA
    "WURK.ZADD" => <<~'LUA',
      #!lua flags=allow-oom
      -- Adds a member to a sorted set, or updates its score.
      --
      -- KEYS     key
      -- ARGV     score member
      -- Replies  1 if added, 0 if only the score was updated
      -- Effects  ZADD key score member
      -- Errors   those of ZADD: nothing has been written

      if #KEYS ~= 1 or #ARGV ~= 2 then
        return redis.error_reply("ERR wrong number of arguments for 'wurk.zadd' command")
      end
      return redis.pcall('ZADD', KEYS[1], ARGV[1], ARGV[2])
    LUA
  }.freeze
end
