local huge = 1e15

-- ---- the state of the key ---------------------------------------------------

local s = {}
local stored = redis.call('HGETALL', KEYS[4])
for i = 1, #stored, 2 do s[stored[i]] = tonumber(stored[i + 1]) end
local quiet = math.max(born + q.quiet, joined) -- before it, others may have sent what we do not know of
if s.born ~= born or (s.at and s.at > math.max(now, s.cool or 0) + q.quiet + 5000000) then
  s.fresh = true
end

-- Where processes declare different limits for one key, as they do while a new
-- version of a source comes in, the more polite ones hold for a minute.
local function politest(name, value)
  if not s[name] or value <= s[name] or (s[name .. 'Until'] or 0) <= now then
    s[name], s[name .. 'Until'] = value, now + 60000000
  end
  return s[name]
end
q.rate, q.burst, q.places = politest('rate', q.rate), politest('burst', q.burst), politest('places', q.places)
q.min = math.min(q.min, q.rate)

local demoted = false
local function complain(signal)
  if signal.sent <= (s.demoted or 0) then return end -- left before the last demotion
  if signal.failed and now - (s.demoted or 0) < q.every then return end -- one that always fails must not stop all others
  s.current = math.max(s.current / q.demote, q.min)
  s.demoted, s.changed, demoted = now, now, true
  s.demotions = (s.demotions or 0) + 1
end

s.current = math.min(s.current or q.rate, q.rate)
s.changed = s.changed or now
if s.current < q.rate and now - s.changed >= q.every then
  local steps = math.floor((now - s.changed) / q.every)
  s.current = math.min(q.rate, s.current + steps * q.recover)
  s.changed = s.changed + steps * q.every
end

local cooled, heard = false, false
for _, signal in ipairs(q.signals) do
  if signal.complaint then complain(signal) end
  if signal.cool > now and signal.cool > (s.cool or 0) then
    s.cool, cooled = signal.cool, true
    s.changed = math.max(s.changed, s.cool)
  end
  if signal.rate > 0 then s.said = signal.rate end
  if signal.places > 0 then s.saidPlaces = signal.places end
  if signal.reset > 0 then s.left, s.reset, heard = signal.left, now + signal.reset, true end
end

-- ---- the rate in force ------------------------------------------------------

local part = math.min(1, here / math.max(q.n, 1)) -- those who are not here use their share elsewhere
local whole = s.current
if q.obey and s.said then whole = math.min(whole, s.said) end
if q.warmup > 0 then
  if not s.warm or s.fresh or now - (s.last or 0) > q.warmup then s.warm = now end
  local risen = math.min(1, (now - s.warm) / q.warmup)
  whole = whole * (1 + 2 * risen) / 3
end
local rate = whole * part / 1000000 -- per microsecond
local burst = math.max(q.burst - whole * q.late / 1000000, math.min(q.burst, 1)) * part

if s.fresh then
  local from = math.max(quiet, 0)
  if s.at == nil and now > from then
    s.tokens, s.at = math.min(burst, (now - from) * rate), now
  else
    s.tokens, s.at = 0, math.max(now, from)
  end
  s.born, s.pace = born, rate
end
if now > s.at then
  s.tokens = s.tokens + (now - s.at) * math.min(s.pace or rate, rate)
  s.at = now
end
s.tokens = math.min(s.tokens, burst)
-- What comes back may only fill what was empty all the time since it was given
-- out. While requests leave at the rate, the bucket is up to one request fuller
-- than it is now.
s.tokens = math.max(s.tokens, math.min(s.tokens + q.back, burst - q.cost))
s.pace = rate
if demoted then s.tokens = math.min(s.tokens, 0) end
if heard and q.obey then s.tokens = math.min(s.tokens, s.left) end
if cooled then -- its end is no starting gun: one request leaves, the others follow at the rate
  s.tokens, s.at = math.min(s.tokens, 1), math.max(s.at, s.cool)
end

-- ---- quotas -----------------------------------------------------------------

-- Every process keeps its own account and shows it each time, so an emptied
-- server learns again what was used.
local function account(key, a)
  local window = math.floor(now / a.length)
  if tonumber(redis.call('HGET', key, 'window') or -1) ~= window then
    redis.call('DEL', key)
    redis.call('HSET', key, 'window', window)
    redis.call('PEXPIRE', key, math.ceil(a.length / 1000) + 60000)
  end
  a.key, a.ends = key, (window + 1) * a.length
  a.mine = math.max(tonumber(redis.call('HGET', key, q.id) or 0) - a.back, 0)
  if a.window == window then a.mine = math.max(a.mine, a.used) end
  a.window, a.sum = window, a.mine
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    if all[i] ~= 'window' and all[i] ~= q.id then a.sum = a.sum + tonumber(all[i + 1]) end
  end
end
for _, a in ipairs(q.accounts) do account(KEYS[6 + a.kind], a) end

-- From when on a request fits into a window. For each step of priority above its
-- own a tenth is kept, which melts until the window ends (§4.10.5).
local function cost(a, want) return a.kind == 3 and want.price or want.weight end
local function opens(a, want)
  local left = a.usable - a.sum - cost(a, want)
  if left < -1e-9 then return a.ends end
  local kept = a.usable * 0.1 * math.min(math.floor(math.max(want.priority, 0) / 40), 4)
  if kept * (a.ends - now) / a.length <= left + 1e-9 then return now end
  return a.ends - math.floor(left / kept * a.length)
end

-- ---- places -----------------------------------------------------------------

-- One entry for each process: how many requests it has under way or may send, and
-- since when it waits for more. A dead process's entry expires.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now)) do
  redis.call('ZREM', KEYS[5], gone)
  redis.call('HDEL', KEYS[6], gone, gone .. '/since', gone .. '/seen')
end
local places = q.places
if q.obey and s.saidPlaces then places = math.min(places, s.saidPlaces) end
if here < q.n then -- the shares of those who are not here, by their rank
  local ranks, rest = {}, places
  for _, rank in ipairs(redis.call('HVALS', KEYS[3])) do ranks[tonumber(rank)] = true end
  for rank = 0, q.n - 1 do
    if not ranks[rank] then
      rest = rest - math.floor(places / q.n) - (rank < places % q.n and 1 or 0)
    end
  end
  places = math.max(rest, 0)
end
local taken, active, before = 0, 1, 0
local mySince = tonumber(redis.call('HGET', KEYS[6], q.id .. '/since') or 0)
if mySince == 0 then mySince = now end
for _, other in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do
  if other ~= q.id then
    local e = redis.call('HMGET', KEYS[6], other, other .. '/since', other .. '/seen')
    local held, since = tonumber(e[1] or 0), tonumber(e[2] or 0)
    if now - tonumber(e[3] or 0) > q.patience then since = 0 end -- it no longer asks
    taken = taken + held
    if held > 0 or since > 0 then active = active + 1 end
    if since > 0 and since < mySince and held == 0 then before = before + 1 end
  end
end
local free, heldBefore = math.max(places - taken - q.held, 0), q.held
if active > 1 and free > 0 then
  local fair = math.max(math.ceil(places / active) - q.held, 0)
  free = math.min(free, fair)
  if places < active then free = math.max(free - before, 0) end
end

-- ---- permits ----------------------------------------------------------------

-- Whoever waits with a better priority goes first; one request in ten is left to
-- the others, so that they are slow and not stuck.
local function behind(priority)
  if not s.firstUntil or s.firstUntil <= now or priority <= s.first then return false end
  return now - (s.spared or 0) < 10 / rate
end

local reply = {
  now = string.format('%.0f', now), here = here, rate = whole, at_once = 0,
  tokens = s.tokens, places = places, taken = taken + q.held, demotions = s.demotions or 0, said = s.said, said_places = s.saidPlaces,
}
local blocked, blockedFirst
local cool = s.cool or 0
for _, want in ipairs(q.wants) do
  for _ = 1, want.n do
    local start = math.max(now, s.at)
    local missing = math.max(want.weight - s.tokens, 0)
    local slot = rate > 0 and start + math.ceil(missing / rate) or now + huge
    local reason, at = 'RATE', slot
    if cool > now + q.horizon then reason, at = 'COOLING', cool end
    local spent = false -- what is near is not given out before its time: it would count in the window that ends
    if s.reset and s.reset > now and (s.left or 0) < want.weight and q.obey then reason, at, spent = 'QUOTA', s.reset, true end
    for _, a in ipairs(q.accounts) do
      local open = opens(a, want)
      if cost(a, want) > 0 and slot >= a.ends then open = math.max(open, a.ends) end
      if open > now then
        spent = true
        if open > at or reason == 'RATE' then reason, at = 'QUOTA', open end
      end
    end
    if not present then
      blocked = {'ABSENT', now + q.horizon}
    elseif spent or at > now + q.horizon then
      blocked = {reason, at}
    elseif free < 1 then
      blocked = {'PLACES', now + q.horizon}
    elseif not want.ahead and behind(want.priority) then
      blocked = {'PRIORITY', now + q.horizon}
    elseif want.ahead and s.firstUntil and s.firstUntil > now then
      blocked = {'PRIORITY', now + q.horizon} -- nothing is taken in advance while others wait
    else
      blocked = nil
    end
    if blocked then
      if not want.ahead then blockedFirst = blockedFirst or want.priority end
      break
    end
    if s.firstUntil and s.firstUntil > now and want.priority > s.first then s.spared = now end
    if slot > now then -- what is promised stays promised when the rate changes
      s.tokens, s.at = math.max(s.tokens, want.weight), slot
    end
    s.tokens, s.last, free = s.tokens - want.weight, now, free - 1
    if s.left then s.left = s.left - want.weight end
    for _, a in ipairs(q.accounts) do
      a.sum, a.mine = a.sum + cost(a, want), a.mine + cost(a, want)
    end
    q.held = q.held + 1
    if slot <= now then
      reply.at_once = reply.at_once + 1
    else
      reply.later = reply.later or {} -- an empty table would be written as an object
      table.insert(reply.later, slot - now)
    end
  end
  if blocked then break end
end
if blocked then
  reply.reason, reply.until_ = blocked[1], math.min(math.max(blocked[2] - now, 0), huge)
end
if blockedFirst and (blocked[1] == 'RATE' or blocked[1] == 'PRIORITY') then
  if not s.firstUntil or s.firstUntil <= now or blockedFirst <= s.first then
    s.first, s.firstUntil = blockedFirst, now + q.patience
  end
end
if cool > now then reply.cooling = cool - now end

-- ---- write it down ----------------------------------------------------------

if #q.accounts > 0 then reply.accounts = {} end
for i, a in ipairs(q.accounts) do
  redis.call('HSET', a.key, q.id, a.mine)
  reply.accounts[i] = {window = a.window, sum = a.sum, mine = a.mine}
end
if q.held > 0 or blocked then
  local since = 0
  if blocked then since = q.held > heldBefore and now or mySince end -- who got something goes to the end of the line
  redis.call('ZADD', KEYS[5], q.lease, q.id)
  redis.call('HSET', KEYS[6], q.id, q.held, q.id .. '/since', since, q.id .. '/seen', now)
else
  redis.call('ZREM', KEYS[5], q.id)
  redis.call('HDEL', KEYS[6], q.id, q.id .. '/since', q.id .. '/seen')
end
local keep = s.fresh or now - (s.kept or 0) > 3600000000
if keep then s.kept = now end
s.fresh = nil
local fields = {}
for name, value in pairs(s) do
  table.insert(fields, name)
  table.insert(fields, value)
end
redis.call('HSET', KEYS[4], unpack(fields))
if keep then
  for i = 4, 6 do redis.call('PEXPIRE', KEYS[i], 172800000) end
end
return cjson.encode(reply)
