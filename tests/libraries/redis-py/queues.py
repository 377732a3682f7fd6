import os

from redis.cluster import RedisCluster

cluster = RedisCluster.from_url(os.environ["REDIS_URL"])
# Each in another part of the cluster.
TAGS = ["{a}", "{b}", "{c}"]
