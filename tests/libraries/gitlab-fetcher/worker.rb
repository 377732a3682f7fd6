require "sidekiq-reliable-fetch"
require_relative "../sidekiq/worker"

Sidekiq.configure_server do |config|
  config.options[:semi_reliable_fetch] = ENV["FETCH"] == "semi-reliable"
  Sidekiq::ReliableFetch.setup_reliable_fetch!(config)
end
