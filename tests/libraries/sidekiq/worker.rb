require_relative "jobs"

Sidekiq.configure_server do |config|
  config.options[:poll_interval_average] = 1
end
