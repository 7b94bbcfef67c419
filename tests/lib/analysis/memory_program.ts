/** Makes columns of a given number of results of one conclusion; prints the greatest memory that took, in bytes. */
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";

const COUNT = Number(Deno.args[0]);
const conclusion = Deno.args[1] as "passing" | "failure";
const hasFailed = conclusion === "failure";

function peak(): number {
  return Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync("/proc/self/status"))?.[1]) * 1024;
}

const before = peak();
const builder = new SubmissionBuilder();
for (let number = 0; number < COUNT; number++) {
  builder.add({
    suite: "checkout",
    class: `Class${Math.floor(number / 20)}`,
    name: `case number ${number}`,
    file: "",
    conclusion,
    durationMicroseconds: number,
    message: hasFailed ? `expected ${number}` : "",
    body: hasFailed ? `expected ${number}\n    at case number ${number}` : "",
  });
}
const content = builder.finish();
if (content.testHashes.length !== COUNT) throw new Error("expected as many tests as results");
Deno.stdout.writeSync(new TextEncoder().encode(String(peak() - before)));
