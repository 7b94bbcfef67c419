// deno-lint-ignore-file no-console -- a program of its own
/** The program's own badges. Arguments: seconds. Prints how many it made in a second. */
import { flakinessBadge } from "../../../../lib/badge/badge.ts";

const BADGES_PER_LOOK = 100;
const milliseconds = Number(Deno.args[0]) * 1000;
let [made, bytes] = [0, 0];
const started = performance.now();
while (performance.now() - started < milliseconds) {
  for (let look = 0; look < BADGES_PER_LOOK; look++) {
    bytes += flakinessBadge({ disruptedBuildCount: made++ % 1000, buildCount: 1000 }).svg.length;
  }
}
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ perSecond: made / seconds, bytes: bytes / made }));
