/**
 * Forwards calls to `call` and properties, except for the overrides, to the function that `target`
 * returns at that moment.
 */
export function forwardingProxy<T extends object>(
  target: () => T,
  call: (...args: unknown[]) => unknown,
  overrides: Partial<T> = {},
): T {
  return new Proxy(target(), {
    apply: (_target, _this, args) => call(...args),
    get: (_target, name) => Reflect.get(name in overrides ? overrides : target(), name),
  });
}
