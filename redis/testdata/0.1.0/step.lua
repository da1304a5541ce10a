-- Writes the results of steps.
if not fenced() then
  return met(0)
end
begin()
assign(6)
settle()
return {1, {}}
