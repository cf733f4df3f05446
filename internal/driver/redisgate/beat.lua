if q.leave then
  redis.call('ZREM', KEYS[2], q.id)
  redis.call('HDEL', KEYS[3], q.id)
end
return cjson.encode({now = string.format('%.0f', now), here = here})
