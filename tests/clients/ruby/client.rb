# frozen_string_literal: true

# A connection of the client that CLIENT names: redis (redis-rb 4 or 5) or redis-client. Each has
# call, pipelined and multi, whose blocks are given something with call.
module Connect
  REDIS_CLIENT = ENV["CLIENT"] == "redis-client"
  require REDIS_CLIENT ? "redis-client" : "redis"
  TYPE = REDIS_CLIENT ? RedisClient : Redis
  COMMAND_ERROR = TYPE::CommandError
  # What says that a connection failed.
  LOST = REDIS_CLIENT ? RedisClient::ConnectionError : Redis::BaseConnectionError
  Redis.silence_deprecations = true if defined?(Redis) && Redis.respond_to?(:silence_deprecations=)

  # Some commands wait for a second, in which redis-client 0.22 loses its patience.
  def self.to(**options)
    return Redis.new(**{ timeout: 10, **options }) unless REDIS_CLIENT

    protocol = Integer(ENV.fetch("PROTOCOL", "3"))
    RedisClient.config(**{ protocol: protocol, timeout: 10, **options }).new_client
  end

  # A pipeline, or a transaction, of these commands.
  def self.all(connection, how, *commands)
    connection.public_send(how) { |pipe| commands.each { |words| pipe.call(*words) } }
  end
end
