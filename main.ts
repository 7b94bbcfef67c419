/** Checks the runtime, runs one command and exits with its code. */
import { isMainThread } from "node:worker_threads";

const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);

if (major < 2 || (major === 2 && minor < 9)) {
  const message = `error: Deno 2.9 or later is required, this is ${Deno.version.deno}\n` +
    "Try: npx -y deno@2.9.6 run -A main.ts --help\n";
  Deno.stderr.writeSync(new TextEncoder().encode(message));
  Deno.exit(1);
}

// Imported after the check: an older runtime fails on the modules themselves.
if (!isMainThread) {
  // The bundle starts itself as the worker thread that reads archives.
  await import("./lib/intake/archive_worker.ts");
} else if (import.meta.main) {
  const { main } = await import("./lib/cli/main.ts");
  await main();
}
