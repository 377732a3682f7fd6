# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "wurk_rescue"
  spec.version = "0.1.0"
  spec.summary = "Workers over redis-rb or redis-client that keep running when their Redis or Valkey is full"
  spec.authors = ["The wurk developers"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 2.7"
  spec.files = ["wurk_rescue.rb", "README.md"]
  spec.require_paths = ["."]
  # redis >= 4.2, or redis-client >= 0.22: a gem cannot depend on one of two.
end
