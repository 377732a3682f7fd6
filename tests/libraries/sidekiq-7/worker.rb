require_relative "../sidekiq/jobs"

Sidekiq.configure_server do |config|
  config[:poll_interval_average] = 1
end
