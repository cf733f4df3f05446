-- Who is here, and is this still the server we know? Times are microseconds.
local q = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- A server that was restarted or took over may hold an older state; one that was
-- emptied holds none. Both get a new epoch, in which every bucket starts empty.
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and info:match('run_id:(%w+)') or 'unknown'
local mark = redis.call('HMGET', KEYS[1], 'run', 'born', 'joined')
local born, joined = tonumber(mark[2] or 0), tonumber(mark[3] or 0)
if mark[1] ~= run or born > now then
  born, joined = now, now
  redis.call('DEL', KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'run', run, 'born', born, 'joined', joined)
end

-- The sender says until when it counts as present. A message that was held up on
-- the way says an instant that has passed, and changes nothing.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
  redis.call('ZREM', KEYS[2], gone)
  redis.call('HDEL', KEYS[3], gone)
end
local present = q.live > now
if present then
  redis.call('ZADD', KEYS[2], q.live, q.id)
  if q.back_from_alone then -- it sent what no bucket here knows of
    joined = now
    redis.call('HSET', KEYS[1], 'joined', joined)
  end
  redis.call('HSET', KEYS[3], q.id, q.rank)
end
local here = redis.call('ZCARD', KEYS[2])
