# What every job of Ruby's libraries does, and what fills the server with them. The
# folder JOBS is described in job.py.
module Job
  module_function

  def run(id)
    if File.exist?(file("gate"))
      write("held", id)
      sleep 0.02 while File.exist?(file("gate"))
    end
    raise "the first run of #{id}" if id[-6..].to_i % 20 == 0 && first_run?(id)

    write("done", id)
  end

  # Enqueues jobs from number FIRST on: MOST, or until the server refuses.
  def enqueue_all
    first = ENV.fetch("FIRST", 0).to_i
    most = ENV.fetch("MOST", 1_000_000).to_i
    (first...(first + most)).each do |number|
      id = format("job-%06d", number)
      begin
        yield id, "x" * 500
      rescue StandardError => error
        write("uncertain", id)
        return write("refused", "#{error.class}: #{error.message}")
      end
      write("accepted", id)
    end
  end

  def first_run?(id)
    File.open(file("failed-#{id}"), File::CREAT | File::EXCL | File::WRONLY).close
    true
  rescue Errno::EEXIST
    false
  end

  # One write a line: several processes append.
  def write(name, line)
    File.open(file(name), "a") { |file| file.syswrite("#{line}\n") }
  end

  def file(name)
    "#{ENV.fetch('JOBS')}/#{name}"
  end
end
