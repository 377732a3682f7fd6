require_relative "jobs"

Job.enqueue_all { |id, payload| Run.perform_async(id, payload) }
