require "sidekiq-reliable-fetch"
require_relative "../sidekiq/worker"

Sidekiq.configure_server do |config|
  config.options[:semi_reliable_fetch] = ENV["FETCH"] == "semi-reliable"
  Sidekiq::ReliableFetch.setup_reliable_fetch!(config)
  # Its first claim looks for jobs of dead processes, and finds its own if a busy machine has
  # not let the thread of its heartbeat run yet. They would be done twice, on any server.
  config.on(:startup) do
    key = Sidekiq::ReliableFetch.heartbeat_key(Sidekiq::ReliableFetch.identity)
    40.times do
      break if Sidekiq.redis { |con| con.exists?(key) }

      sleep 0.05
    end
  end
end
