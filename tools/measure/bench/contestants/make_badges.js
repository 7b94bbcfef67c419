// deno-lint-ignore-file no-console -- a program of its own
/** badge-maker. Arguments: seconds. Prints how many badges it made in a second. */
import { makeBadge } from "badge-maker";

const BADGES_PER_LOOK = 100;
const milliseconds = Number(process.argv[2]) * 1000;
let [made, bytes] = [0, 0];
const started = performance.now();
while (performance.now() - started < milliseconds) {
  for (let look = 0; look < BADGES_PER_LOOK; look++) {
    const message = `${(made++ % 1000) / 10}%`;
    bytes += makeBadge({ label: "flakiness", message, color: "yellow" }).length;
  }
}
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ perSecond: made / seconds, bytes: bytes / made }));
