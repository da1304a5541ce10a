-- Deletes a record without steps.
if not fenced() then
  return met(0)
end
for _, field in ipairs(redis.call('HKEYS', key)) do
  if string.sub(field, 1, 5) == 'step:' then
    return met(0)
  end
end
redis.call('DEL', key)
return {1, {}}
