import { groupA, groupB } from "/tmp/variants.ts";
import { groupFailures } from "../../lib/analysis/failure_groups.ts";
import { randomBytes } from "node:crypto";
const fps = Array.from({ length: 80 }, () => randomBytes(8));
const rows = Array.from({ length: 1000 }, (_, i) => {
  const b = Buffer.alloc(54 * 16);
  for (let k = 0; k < 54; k++) {
    fps[Math.floor(Math.random() * 80)]!.copy(b, k * 16);
    b.writeInt32BE(Math.floor(Math.random() * 2000), k * 16 + 8);
    b.writeInt32BE(~k, k * 16 + 12);
  }
  return {
    submissionId: i.toString(16).padStart(24, "0"),
    failures: new Uint8Array(b),
    hex: "\\x" + b.toString("hex"),
  };
});
const ids = new Map(Array.from({ length: 2000 }, (_, n) => [n, n.toString(16).padStart(24, "a")]));
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new DataView(buffer, byteOffset, byteLength);
const testNosOf = (f: Uint8Array) => {
  const v = viewOf(f);
  return Array.from({ length: f.length / 16 }, (_, n) => v.getInt32(n * 16 + 8));
};
for (let i = 0; i < 10; i++) {
  const t0 = performance.now();
  const parsed = rows.map((r) => Buffer.from(r.hex.slice(2), "hex"));
  const t1 = performance.now();
  const testNos = new Set(rows.flatMap(({ failures }) => testNosOf(failures)));
  const t2 = performance.now();
  const all = rows.flatMap(({ submissionId, failures }, index) => {
    const digits = failures.toHex();
    const view = viewOf(failures);
    return testNosOf(failures).map((testNo, number) => {
      const start = number * 16, end = start + 8;
      const place = view.getInt32(end + 4);
      const isDisruption = place < 0;
      const resultNo = isDisruption ? ~place : place;
      return {
        fingerprint: digits.slice(2 * start, 2 * end),
        testNo,
        testId: ids.get(testNo)!,
        isDisruption,
        branch: "main",
        build: "x",
        recordedAt: index,
        position: index * 2 ** 31 + resultNo,
        submissionId,
        resultNo,
      };
    });
  });
  const t3 = performance.now();
  const g = groupFailures(all);
  const t4 = performance.now();
  groupA(all);
  const t5 = performance.now();
  groupB(all);
  const t6 = performance.now();
  Map.groupBy(all, (x: any) => x.fingerprint);
  const t7 = performance.now();
  Map.groupBy(all, (x: any) => x.testId);
  const t8 = performance.now();
  console.log(
    "A",
    (t5 - t4).toFixed(1),
    "B",
    (t6 - t5).toFixed(1),
    "groupBy fp",
    (t7 - t6).toFixed(1),
    "groupBy test",
    (t8 - t7).toFixed(1),
  );
  console.log(
    "hex",
    (t1 - t0).toFixed(1),
    "testnos",
    (t2 - t1).toFixed(1),
    "objects",
    (t3 - t2).toFixed(1),
    "group",
    (t4 - t3).toFixed(1),
    testNos.size,
    parsed.length,
    g.count,
  );
}
