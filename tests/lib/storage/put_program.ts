/** Puts a file to an address; prints its key there, and the greatest memory that took, in bytes. */
import { openTarget } from "../../../lib/storage/inbox.ts";

const [address, path] = Deno.args as [string, string];

function peak(): number {
  return Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync("/proc/self/status"))?.[1]) * 1024;
}

const { size } = await Deno.stat(path);
const target = openTarget(`${address}/in/`, {
  environment: {},
  repository: { owner: "acme", name: "shop" },
});
const before = peak();
const key = await target.put({ path, size, digest: "" }, "a.gz");
Deno.stdout.writeSync(new TextEncoder().encode(`${key}\n${peak() - before}\n`));
