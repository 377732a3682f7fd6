require "sidekiq"
require_relative "../job/job"

class Run
  include Sidekiq::Worker
  sidekiq_retry_in { 1 }

  def perform(id, payload)
    Job.run(id)
  end
end
