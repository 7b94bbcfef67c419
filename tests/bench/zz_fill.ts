import { fillEvidence, measureEvidence } from "./evidence.ts";
const url = "postgres://postgres:postgres@127.0.0.1:55432/evidence2";
const file = "/tmp/evidence2.json";
const report = (line: string) => console.error(line);
let filled;
try {
  filled = JSON.parse(Deno.readTextFileSync(file));
} catch {
  filled = await fillEvidence(url, { buildCount: 1000, report });
  Deno.writeTextFileSync(file, JSON.stringify(filled));
}
if (Deno.args[0] === "measure") await measureEvidence(url, { filled, report });
