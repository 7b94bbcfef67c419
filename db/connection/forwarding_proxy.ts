/**
 * Forwards calls and properties to a function that may be replaced at any time.
 *
 * @param target returns the current function
 * @param call handles calls
 * @param overrides properties that are not forwarded
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
