import { format } from "node:util";

const METHODS = ["log", "info", "debug", "dir", "table", "warn", "error", "trace"] as const;

/**
 * Redirects console output of libraries to `write`: standard output carries only the protocol.
 *
 * @returns a function that restores the console
 */
export function redirectConsole(write: (text: string) => void): () => void {
  const target: Record<string, unknown> = globalThis.console as unknown as Record<string, unknown>;
  const saved = METHODS.map((name) => [name, target[name]] as const);
  for (const name of METHODS) {
    target[name] = (...values: unknown[]) => write(format(...values));
  }
  return () => {
    for (const [name, method] of saved) target[name] = method;
  };
}
