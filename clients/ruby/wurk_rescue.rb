# frozen_string_literal: true

# Workers over redis-rb or redis-client that keep running when their Redis or Valkey is full.
#
# `ruby -r ./wurk_rescue.rb` (RUBYOPT) in the worker's process is all. A command that a full
# server refused (OOM, under maxmemory and noeviction) is sent again inside a script that such a
# server runs; what is not refused is sent as ever. Producers do not load this, and stay refused.
# WURK_RESCUE_LIMIT is how far past maxmemory the server may be for that, in percent (10; 0 is no
# limit): past it what grows keeps its error, and what only moves a job goes on.

# Under `bundle exec`, the versions that the Gemfile names: this may be loaded first.
bundled = ENV["BUNDLE_BIN_PATH"] || (File.basename($PROGRAM_NAME) == "bundle" && ARGV[0] == "exec")
require "bundler/setup" if bundled
clients = %w[redis redis-client].select do |name|
  require name
  true
rescue LoadError => e
  e.path == name ? false : raise
end
raise LoadError, "wurk_rescue: neither redis nor redis-client can be loaded" if clients.empty?

module WurkRescue
  LIMIT = Float(ENV.fetch("WURK_RESCUE_LIMIT", "10")) # percent
  MOVES = %w[LMOVE RPOPLPUSH BLMOVE BRPOPLPUSH].freeze
  WAITS = %w[BLMOVE BRPOPLPUSH].freeze
  # What a script cannot run, or would not wait for.
  NOT_IN_SCRIPTS = %w[
    EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO FUNCTION SCRIPT MULTI EXEC DISCARD WATCH UNWATCH AUTH HELLO RESET QUIT
    SELECT CLIENT CONFIG DEBUG WAIT WAITAOF MONITOR SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE
    SUNSUBSCRIBE BLPOP BRPOP BLMPOP BZPOPMIN BZPOPMAX BZMPOP XREAD XREADGROUP SAVE BGSAVE BGREWRITEAOF SHUTDOWN
    REPLICAOF FAILOVER MODULE ACL CLUSTER MIGRATE
  ].freeze
  MOST_WORDS = 7_000 # Lua's stack holds 8,000.
  NO = Object.new.freeze # Nothing was run: the caller's own error is the answer.

  # What errors mean; a caller's own bytes may follow.
  LINES = /(ERR Error running script.*?\): )?(@user_script[\d: ]+)*-?/n
  OOM = /\A#{LINES}OOM /n
  EXEC_OOM = /\AEXECABORT Transaction discarded because of: OOM /n
  NO_MODULE = /\AERR unknown command(\z| ['`"]?WURK\.RESCUE)|\ANOPERM (this user|User .*) has no permissions to run the 'wurk\.rescue' command/ni
  CANNOT_COMPILE = /\A[^'`"]*unexpected symbol near '#'|\AERR (Unexpected flag in script shebang|allow-oom is not supported)/n
  NO_SCRIPTS = Regexp.union(
    /\A(ERR )?(unknown|unsupported) command ['`"]?EVAL\b/ni,
    /\A(ERR )?command ['`"]?eval['`"]? not support/ni,
    /\AERR (Could not find scripting engine|This instance has Lua scripting support disabled|Out of memory)/n,
    /\ANOPERM (this user|User .*) has no permissions to run the 'eval'/n,
    /\A(ERR )?#{LINES}(ERR )?The user executing the script can't run this command/n,
    /\A(ERR )?#{LINES}(ERR )?ACL failure in script: User .* has no permissions to run the '/n
  )

  # Names in any case, without allocating.
  NOTED = /\A((un)?watch|script)\z/i
  WATCHES = /\Awatch\z/i
  MULTI = /\Amulti\z/i
  EXEC = /\Aexec\z/i
  # The reply to a rescue was lost: not an error that a client may send the command again for.
  module Lost; end

  # The same where redis-rb 4 sends again whatever it lost: around a command that waits.
  class LostWhileWaiting < StandardError
    attr_reader :error

    def initialize(error)
      super()
      @error = error
    end
  end

  # What is known of a server: whether it is full, and which way it takes commands.
  class Server
    attr_accessor :no_module_until, :no_scripts_until

    def initialize(name)
      @name = name
      @full_until = @no_module_until = @no_scripts_until = @logged = 0
      @asked = -Float::INFINITY
    end

    def refused
      @full_until = WurkRescue.now + 1
    end

    def full?
      @full_until.positive? && WurkRescue.now < @full_until
    end

    def asked?
      WurkRescue.now < @asked + 1
    end

    def past_limit?
      @past_limit
    end

    def on_info(info)
      @asked = WurkRescue.now
      return refused unless info.is_a?(String) # It does not say.

      used, most = %w[used_memory maxmemory].map { |field| info[/^#{field}:(\d+)/, 1].to_i }
      @past_limit = LIMIT.positive? && most.positive? && used > most * (1 + LIMIT / 100)
      @full_until = 0
      refused if most.positive? && used >= 0.98 * most
    end

    def note(what)
      return if @logged.positive? && WurkRescue.now < @logged + 60

      @logged = WurkRescue.now
      warn "wurk_rescue: #{@name} is full: #{what}"
    end
  end

  @servers = {}
  @texts = {} # of scripts, by their digests
  @asked = {} # digests that the caller was asked to load

  class << self
    attr_reader :texts

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def server(name)
      @servers[name] ||= Server.new(name)
    end

    # Whether a command was refused for memory. Past an operator's limit the error says so, and
    # is the answer.
    def refusal?(reply)
      matches?(reply, OOM) && !reply.to_s.b.include?("'wurk.")
    end

    # Clients give a server's errors among replies as exceptions. What redis-client adds to the
    # message is not in to_s.
    def matches?(reply, pattern)
      reply.is_a?(StandardError) && pattern.match?(reply.to_s.b)
    end

    # Remembers a command, or a pipeline, whose replies were lost. What a client says on a new
    # connection can be lost too, before it sends the command again.
    def lost(command)
      lost = (Thread.current[:wurk_lost] ||= [])
      lost.delete(command)
      lost.push(command)
      lost.shift if lost.size > 4
    end

    # Whether what was refused is what this thread lost the reply of: it may have run that time.
    def resent?(command)
      !Thread.current[:wurk_lost]&.delete(command).nil?
    end

    # As it stands on the wire, EVALSHA with the script's text where that is known.
    def words(command)
      words = command.flatten.map { |word| word.to_s.b }
      text = @texts[words[1].downcase] if words[0].casecmp?("EVALSHA") && words[1]
      text ? ["EVAL", text, *words.drop(2)] : words
    end

    # Whether the caller may be asked for a script's text, by telling it that the server has none.
    def ask?(words)
      return false unless words[0].casecmp?("EVALSHA") && !@asked[words[1].downcase]

      @asked[words[1].downcase] = true
    end

    # A library's own script with the flag; nil if it has that already.
    def allow_oom(text)
      return "#!lua flags=allow-oom,allow-cross-slot-keys\n#{text}" unless text.start_with?("#!")

      line, body = text.split("\n", 2)
      return nil if !line.start_with?("#!lua") || line.include?("allow-oom")

      line = line.include?("flags=") ? line.sub("flags=", "flags=allow-oom,") : "#{line.rstrip} flags=allow-oom"
      "#{line}\n#{body}"
    end

    def first_key(words)
      return words[2].to_i.positive? ? words[3] : nil if words[0].casecmp?("EVAL")

      words[%w[XGROUP BITOP].include?(words[0].upcase) ? 2 : 1]
    end

    # What to send from 7.0 on, and before; nil if that cannot be.
    def requests(commands, how, watched, protocol)
      single = commands[0] if commands.size == 1 && how == "each"
      if single && single[0].casecmp?("EVAL")
        text = allow_oom(single[1])
        return [text && ["EVAL", text, *single.drop(2)],
                first_key(single) && ["EVAL", WRITE_FIRST.b + single[1], *single.drop(2)]]
      end
      return nil unless commands.all? do |words|
        words.size <= MOST_WORDS && !NOT_IN_SCRIPTS.include?(words[0].upcase) &&
          (single || !WAITS.include?(words[0].upcase))
      end

      rest = [how, protocol, watched.size.to_s, *watched.flatten]
      commands.each { |words| rest.push(words.size.to_s, *words) }
      key = commands.filter_map { |words| first_key(words) }.first
      [["EVAL", COMMANDS, "0", *rest],
       key && ["EVAL", WRITE_FIRST + COMMANDS.split("\n", 2)[1], "1", key, *rest]]
    end

    # Sends commands that were refused another way, by the block, which returns a reply or the
    # server's error. Returns the reply or an error, or NO if nothing was run.
    def carry(server, protocol, commands, how = "each", watched = [], &send)
      single = commands[0] if commands.size == 1 && how == "each"
      name = single ? single[0].upcase : ""
      if WAITS.include?(name)
        timeout = Float(single.last, exception: false) or return NO
        ends = timeout.positive? ? now + timeout : Float::INFINITY
      end
      pause = 0.01
      (1..).each do |round|
        server.on_info(send.call(%w[INFO memory])) unless server.asked?
        if server.past_limit? && !MOVES.include?(name)
          server.note("more than #{LIMIT.to_i} % past maxmemory, what grows keeps its error")
          return NO
        end
        if single && now >= server.no_module_until
          reply = send.call(["WURK.RESCUE", *single])
          return reply unless refusal?(reply) || matches?(reply, NO_MODULE)

          server.no_module_until = now + 60
        end
        return NO if now < server.no_scripts_until

        reply = by_script(server, requests(commands, how, watched, protocol), &send)
        return reply if reply.equal?(NO) || !reply.is_a?(Array) || how == "all" || name == "EVAL"

        reply = single ? reply[0] : reply
        return reply unless ends && reply.nil? && now < ends

        # A move that waits asks again, and now and then lets the server do the waiting.
        sleep [pause, ends - now].min.clamp(0, 1)
        pause = [2 * pause, 0.1].min
        next unless (round % 10).zero?

        left = ends == Float::INFINITY ? 0 : [ends - now, 0.001].max
        reply = send.call([*single[0..-2], name == "BLMOVE" ? left.to_s : left.ceil.to_s])
        return reply unless refusal?(reply)
      end
    end

    def by_script(server, requests, &send)
      new, old = requests
      return NO unless new

      server.note("what it refuses is sent again in a script (up to #{LIMIT.to_i} % past maxmemory)")
      reply = send.call(new)
      reply = send.call(old) if matches?(reply, CANNOT_COMPILE) && old
      return NO if refusal?(reply)
      return reply unless matches?(reply, CANNOT_COMPILE) || matches?(reply, NO_SCRIPTS)

      server.no_scripts_until = now + 60
      NO
    end

    # Whether nothing of a transaction has run, for want of memory and nothing else.
    def aborted?(replies)
      *queued, exec = replies
      errors = queued.grep(StandardError)
      return matches?(exec, EXEC_OOM) if errors.empty?

      exec.is_a?(StandardError) && errors.all? { |error| refusal?(error) }
    end

    # Whether a command that was refused shares an argument with one behind it that has run: that
    # one would have met what this one does.
    def out_of_order?(at, commands, replies)
      own = commands[at].drop(1)
      (at + 1...commands.size).any? { |later| !refusal?(replies[later]) && (commands[later].drop(1) & own).any? }
    end
  end

  # What a connection does with refusals. Blocks send words once, and return the reply or the
  # server's error.
  module Rescue
    private

    def wurk_carry(...)
      WurkRescue.carry(wurk_server, wurk_protocol, ...)
    end

    def wurk_rescue(command, own, &send)
      wurk_server.refused
      words = WurkRescue.words(command)
      reply = wurk_carry([words], &send)
      return reply unless reply.equal?(NO)

      WurkRescue.ask?(words) ? wurk_error_of("NOSCRIPT No matching script. Please use EVAL.") : own
    end

    def wurk_note(command, reply)
      case command[0].to_s.downcase
      when "unwatch" then @wurk_watched = nil
      when "script"
        WurkRescue.texts[reply.to_s.downcase] = command[2].to_s.b if command[1].to_s.casecmp?("load")
      when "watch"
        keys = command.drop(1).flatten
        prints = yield(["EVAL", WATCH, keys.size.to_s, *keys]) if wurk_server.full?
        known = prints.is_a?(Array) && @wurk_watched != :unknown
        @wurk_watched = known ? [*@wurk_watched, *keys.map(&:to_s).zip(prints)] : :unknown
      end
    end

    # A pipeline or a transaction as one script from the start, on a server that is known to be
    # full; nil if that cannot be. A script in a transaction would be queued, and refused when it
    # runs.
    def wurk_whole(commands, multi, watched, &send)
      words = commands.map { |command| WurkRescue.words(command) }
      return wurk_all(words, watched, &send) if multi && words.any? { |word| word[0].casecmp?("EVAL") }
      return nil if multi || words.size < 2 || words.any? { |word| NOT_IN_SCRIPTS.include?(word[0].upcase) }

      reply = wurk_carry(words, &send)
      reply if reply.is_a?(Array)
    end

    # What is sent again for a pipeline's or a transaction's replies.
    def wurk_part(commands, multi, watched, own, &send)
      words = commands.map { |command| WurkRescue.words(command) }
      if multi
        return own unless WurkRescue.aborted?(own)

        wurk_server.refused
        return wurk_all(words, watched, &send) || own
      end
      return own if words.any? { |word| word[0].casecmp?("MULTI") }

      own.each_index do |at|
        next if !WurkRescue.refusal?(own[at]) || WurkRescue.out_of_order?(at, words, own)

        own[at] = wurk_rescue(commands[at], own[at], &send)
      end
      own
    end

    # The replies of a transaction that was one script, as those of MULTI to EXEC.
    def wurk_all(words, watched, &send)
      return nil if watched == :unknown

      reply = wurk_carry(words[1..-2], "all", watched || [], &send)
      return nil if reply.equal?(NO)

      yield ["UNWATCH"] if watched
      ["OK", *Array.new(words.size - 2, "QUEUED"), reply]
    end
  end

  # Redis::Client of redis-rb 4: its commands, pipelines and transactions.
  module Client
    include Rescue

    def call(command)
      outer, @wurk_sends = @wurk_sends, 0
      begin
        reply = process([command]) { read }
      rescue Redis::BaseConnectionError
        WurkRescue.lost(command)
        raise
      ensure
        sends, @wurk_sends = @wurk_sends, outer
      end
      if reply.is_a?(Redis::CommandError)
        # One that redis-rb has sent again may have run the first time.
        resent = WurkRescue.resent?(command) || sends > 1
        reply = wurk_rescue(command, reply, &wurk_send) if !resent && WurkRescue.refusal?(reply)
        raise reply if reply.is_a?(Redis::CommandError)
      end
      wurk_note(command, reply, &wurk_send) if NOTED.match?(command[0])
      if block_given? && reply != "QUEUED"
        yield reply
      else
        reply
      end
    end

    def call_pipelined(pipeline)
      return [] if pipeline.futures.empty?

      commands = pipeline.commands
      multi = pipeline.is_a?(Redis::Pipeline::Multi)
      watched, @wurk_watched = @wurk_watched, nil if multi
      replies = (wurk_server.full? && wurk_whole(commands, multi, watched, &wurk_send)) || nil
      replies ||= wurk_pipeline(pipeline, commands) { |own| wurk_part(commands, multi, watched, own, &wurk_send) }
      @wurk_watched = :unknown if commands.any? { |command| WATCHES.match?(command[0]) }
      error = replies.find { |reply| reply.is_a?(Redis::CommandError) }
      raise error if error

      replies
    end

    # redis-rb sends a command that waits again when the connection is lost, always.
    def call_with_timeout(*)
      outer, @wurk_waits = @wurk_waits, true
      super
    rescue LostWhileWaiting => e
      raise e.error, cause: e.error.cause
    ensure
      @wurk_waits = outer
    end

    def connect
      @wurk_watched = nil
      super
    end

    private

    # Counts how often something is sent; the first commands of a pipeline may run although the
    # others could not be written.
    def ensure_connected
      super do
        @wurk_sends += 1 if @wurk_sends
        yield
      end
    end

    # Sends a pipeline as redis-rb does; the block is given the replies if one is an error, and
    # nothing was sent twice.
    def wurk_pipeline(pipeline, commands)
      replies, reconnect = Array.new(commands.size), @reconnect
      outer, @wurk_sends = @wurk_sends, 0
      begin
        process(commands) do
          pipeline.timeouts.each_with_index do |timeout, at|
            replies[at] = timeout ? with_socket_timeout(timeout) { read } : read
            @reconnect = false # What has replied is not sent again.
          end
        end
      ensure
        @reconnect = reconnect
        sends, @wurk_sends = @wurk_sends, outer
      end
      refused = sends == 1 && replies.any? { |reply| reply.is_a?(Redis::CommandError) }
      refused ? yield(replies) : replies
    end

    def wurk_server
      @wurk_server ||= WurkRescue.server(location)
    end

    def wurk_protocol
      "2"
    end

    def wurk_error_of(message)
      Redis::CommandError.new(message)
    end

    def wurk_send
      @wurk_send ||= lambda do |words|
        without_reconnect { process([words]) { read } }
      rescue Redis::BaseConnectionError => e
        raise @wurk_waits ? LostWhileWaiting.new(e) : e
      end
    end
  end

  # RedisClient::ConnectionMixin: the same of redis-client, and so of redis-rb 5 and Sidekiq 7.
  module Connection
    include Rescue

    PLAIN = RedisClient::ConnectionMixin.instance_method(:call) if defined?(RedisClient) && !const_defined?(:PLAIN, false)

    def call(command, timeout)
      begin
        reply = super
      rescue RedisClient::ConnectionError, RedisClient::ProtocolError
        WurkRescue.lost(command)
        raise
      rescue RedisClient::CommandError => e
        raise if WurkRescue.resent?(command) || !WurkRescue.refusal?(e)

        reply = wurk_rescue(command, e) { |words| wurk_once(words, timeout) }
        raise wurk_error(reply, command) if reply.is_a?(RedisClient::Error)
      end
      wurk_note(command, reply) { |words| wurk_once(words, timeout) } if NOTED.match?(command[0])
      reply
    end

    def call_pipelined(commands, timeouts, exception: true)
      multi = MULTI.match?(commands[0][0]) && EXEC.match?(commands[-1][0])
      watched, @wurk_watched = @wurk_watched, nil if multi
      @wurk_watched = :unknown if commands.any? { |command| WATCHES.match?(command[0]) }
      resent = WurkRescue.resent?(commands)
      begin
        replies = wurk_whole(commands, multi, watched, &wurk_send(timeouts)) if !resent && wurk_server.full?
        return wurk_replies(replies, commands, exception) if replies

        replies = super(commands, timeouts, exception: false)
      rescue RedisClient::ConnectionError, RedisClient::ProtocolError
        WurkRescue.lost(commands)
        raise
      end
      return replies if replies.none?(RedisClient::Error)

      replies = wurk_part(commands, multi, watched, replies, &wurk_send(timeouts)) unless resent
      wurk_replies(replies, commands, exception)
    end

    def close
      @wurk_watched = @wurk_server = nil
      super
    end

    private

    # What sends words once, with as much time as the longest of a pipeline has.
    def wurk_send(timeouts)
      longest = timeouts&.compact&.max
      ->(words) { wurk_once(words, longest) }
    end

    # Returns the reply, or the server's error.
    def wurk_once(words, timeout)
      PLAIN.bind_call(self, words, timeout)
    rescue RedisClient::CommandError, RedisClient::ReadOnlyError, RedisClient::MasterDownError => e
      e
    rescue RedisClient::ConnectionError, RedisClient::ProtocolError => e
      raise e.extend(Lost)
    end

    # Raises the first error among a pipeline's replies, or returns them.
    def wurk_replies(replies, commands, exception)
      errors = replies.each_index.select { |at| replies[at].is_a?(RedisClient::Error) }
      errors.map! { |at| wurk_error(replies[at], commands[at]) }
      errors.each_cons(2) { |error, after| error._set_next_error(after) } if errors[0].respond_to?(:_set_next_error)
      raise errors[0] if exception && errors[0]

      replies
    end

    def wurk_error(error, command)
      error._set_command(command)
      error._set_config(config)
      error
    end

    def wurk_server
      @wurk_server ||= WurkRescue.server(config.server_url)
    end

    def wurk_protocol
      config.protocol.to_s
    end

    def wurk_error_of(message)
      RedisClient::CommandError.parse(message)
    end
  end

  # RedisClient::Config: whether redis-client sends again.
  module Once
    def retry_connecting?(attempt, error)
      !error.is_a?(Lost) && super
    end
  end

  # Loading it twice does nothing more.
  newer = ->(version, oldest) { Gem::Version.new(version) >= Gem::Version.new(oldest) }
  patches = {}
  if defined?(Redis) && Redis::VERSION.to_i < 5
    patches["redis-rb #{Redis::VERSION}"] = newer.call(Redis::VERSION, "4.2") && { Redis::Client => Client }
  end
  if defined?(RedisClient)
    supported = newer.call(RedisClient::VERSION, "0.22") && newer.call(RUBY_VERSION, "3.0")
    patches["redis-client #{RedisClient::VERSION} on Ruby #{RUBY_VERSION}"] = supported && {
      RedisClient::ConnectionMixin => Connection, RedisClient::Config => Once, RedisClient::SentinelConfig => Once
    }
  end
  patches.each { |client, types| warn "wurk_rescue: #{client} is too old, it is not patched" unless types }
  raise LoadError, "wurk_rescue: nothing to patch" unless patches.values.any?

  patches.values.select(&:itself).each { |types| types.each { |type, by| type.prepend(by) } }

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

  COMMANDS = <<~'LUA'
    #!lua flags=allow-oom,allow-cross-slot-keys
    -- Runs commands of any kind one after another, on a server that is full: what a
    -- client sends in place of commands that were refused for memory.
    --
    -- KEYS     the commands' keys, by which a cluster finds the slot
    -- ARGV     how protocol watched [key fingerprint ...] [words word ...] ...
    --          how        "each": every command by itself, as in a pipeline;
    --                     "all": all or none, as in a transaction
    --          protocol   of the connection, 2 or 3
    --          watched    how many keys must be as they were; each with what
    --                     watch.lua said of it
    --          words      how many words the next command has, its name included.
    --                     EVALSHA stands as EVAL with its text
    -- Replies  an array of the commands' replies, errors included, in the types of
    --          the protocol; nil if a watched key has changed: nothing was run
    -- Errors   OOM before 7.0 with INCRBYFLOAT: nothing has been run
    --          "all": OOM if a command was refused all the same, by a limit of the
    --          server's. That is before the first write: nothing has been written
    --
    -- Numbers in Lua have 53 bits: an integer above that is rounded in the reply.

    local how, protocol, watched = ARGV[1], ARGV[2], tonumber(ARGV[3])
    local load = loadstring or load

    -- Commands whose reply has another type in protocol 3. In others it may hold nil,
    -- which ends an array in Lua there, and is false in protocol 2.
    local types = {}
    for name in ([[HGETALL HRANDFIELD SMEMBERS SINTER SUNION SDIFF SPOP ZADD ZINCRBY
      ZSCORE ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZPOPMIN ZPOPMAX ZMPOP
      BZPOPMIN BZPOPMAX BZMPOP ZRANDMEMBER ZUNION ZINTER ZDIFF ZRANK ZREVRANK
      GEORADIUS GEORADIUSBYMEMBER GEOSEARCH LCS INFO XINFO CONFIG CLIENT MEMORY
      OBJECT FUNCTION COMMAND ACL LATENCY MODULE PUBSUB CLUSTER]]):gmatch('%u+') do
      types[name] = true
    end

    -- Replies that hold nil, and numbers where protocol 2 has text.
    local function doubles(reply)
      if type(reply) == 'string' then return {double = tonumber(reply)} end
      if type(reply) == 'table' and not reply.err then
        for i = 1, #reply do reply[i] = doubles(reply[i]) end
      end
      return reply
    end

    local function map(reply)
      if type(reply) ~= 'table' or reply.err then return reply end
      local pairs = {}
      for _, pair in ipairs(reply) do pairs[pair[1]] = pair[2] end
      return {map = pairs}
    end

    local convert = {ZMSCORE = doubles, GEOPOS = doubles, XREAD = map, XREADGROUP = map}

    -- A script cannot call one: its text becomes a function of this one.
    local function eval(words)
      local count = tonumber(words[3])
      if not count or count < 0 or count > #words - 3 then
        return redis.error_reply("ERR Number of keys can't be greater than number of args")
      end
      local keys, others = {}, {}
      for i = 4, #words do
        local list = i < 4 + count and keys or others
        list[#list + 1] = words[i]
      end
      local text = words[2]:gsub('^#![^\n]*', '')
      local script, why = load('local KEYS, ARGV = ... ' .. text, '@user_script')
      if not script then return redis.error_reply('ERR Error compiling script (new function): ' .. why) end
      local done, reply = pcall(script, keys, others)
      if done or type(reply) == 'table' then return reply end
      reply = tostring(reply) -- of an error of redis.call with its code, of Lua's without
      return {err = reply:find('^%u+ ') and reply or 'ERR ' .. reply}
    end

    -- Up to 7.0 a script may not call these two, and nowhere do they wait in one.
    local moves = {BLMOVE = 'LMOVE', BRPOPLPUSH = 'RPOPLPUSH'}

    local function run(words)
      local name = words[1]:upper()
      if name == 'EVAL' then return eval(words) end
      if moves[name] then words[1], words[#words] = moves[name], nil end
      local changed = protocol == '3' and types[name]
      if changed then redis.setresp(3) end
      local reply = redis.pcall(unpack(words))
      if changed then redis.setresp(2) end
      if protocol == '3' and convert[name] then return convert[name](reply) end
      return reply
    end

    for i = 4, 3 + 2 * watched, 2 do
      local value = redis.pcall('DUMP', ARGV[i]) or ''
      local time = redis.pcall('PEXPIRETIME', ARGV[i])
      if type(value) == 'table' then return value end
      if type(time) == 'table' then time = '' end
      if redis.sha1hex(time .. ':' .. value) ~= ARGV[i + 1] then return nil end
    end

    -- What a script's own words for an error are to a client.
    local function in_the_servers_words(text, words)
      -- Before 7.0 some come with the line that they were met at.
      text = text:gsub('^@user_script: %d+: %-?', '')
      if text:find('^%u* ?Wrong number of args calling ') then
        return "ERR wrong number of arguments for '" .. words[1]:lower() .. "' command"
      end
      if text:find('^%u* ?Unknown .*command called from ') then
        return "ERR unknown command '" .. words[1]:sub(1, 128) .. "'"
      end
      return text
    end

    local commands, at = {}, 4 + 2 * watched
    while at <= #ARGV do
      local words = {}
      for i = at + 1, at + tonumber(ARGV[at]) do words[#words + 1] = ARGV[i] end
      at = at + #words + 1
      commands[#commands + 1] = words
      -- Inside a script it corrupts the memory of such a server, which ends it.
      if words[1]:upper() == 'INCRBYFLOAT' and not redis.acl_check_cmd then
        return redis.error_reply("OOM command not allowed when used memory > 'maxmemory'.")
      end
    end

    local replies = {}
    for i, words in ipairs(commands) do
      local reply = run(words)
      if type(reply) == 'table' and reply.err then
        local text = in_the_servers_words(reply.err, words)
        reply = {err = text}
        if how == 'all' and text:find('^OOM ') then return reply end
      end
      if reply == nil then reply = false end
      replies[i] = reply
    end
    return replies
  LUA

  WATCH = <<~'LUA'
    -- What WATCH would notice of keys, for a client whose transaction may be refused:
    -- commands.lua compares it. Only reads, so a full server runs it as it is.
    --
    -- KEYS     the keys
    -- Replies  for each 40 characters that change with its value or its time to live;
    --          before 7.0 with its value alone

    local fingerprints = {}
    for i, key in ipairs(KEYS) do
      local value = redis.call('DUMP', key) or ''
      local time = redis.pcall('PEXPIRETIME', key)
      if type(time) == 'table' then time = '' end
      fingerprints[i] = redis.sha1hex(time .. ':' .. value)
    end
    return fingerprints
  LUA
end
