import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { describe, it } from "@std/testing/bdd";
import { readEntries } from "../../../../lib/report/archive/entries.ts";
import { tarOf } from "./make_archive.ts";

// Two blocks of 512 bytes each: a header and its contents.
const TAR = await tarOf(["a", "b", "c", "d"].map((name) => [name, name.repeat(69)]));
const BLOCK = 512;

/** The tar in members of a gzip that end at these places, which is how it comes out again. */
async function* inMembers(ends: number[]): AsyncGenerator<Uint8Array, void> {
  let start = 0;
  for (const end of [...ends, TAR.length]) {
    yield new Uint8Array(gzipSync(TAR.slice(start, end)));
    start = end;
  }
}

describe("the entries of an archive", () => {
  it("end regardless of unread remainders and chunk boundaries", async () => {
    for (const unread of ["a", "b", "c", "d", "bd"]) {
      for (let block = 1; block <= 7; block++) {
        for (const before of [40, 300, 448]) {
          const ends = [block * BLOCK - before, block * BLOCK];
          const paths: string[] = [];
          for await (const { path, bytes } of readEntries(inMembers(ends), { archive: "x.gz" })) {
            paths.push(path);
            if (!unread.includes(path)) { for await (const _ of bytes); }
          }
          assert.deepEqual(paths, ["a", "b", "c", "d"]);
        }
      }
    }
  });

  it("may be left before the last, which closes the source", async () => {
    let isClosed = false;
    async function* source() {
      try {
        yield* inMembers([BLOCK]);
        // More than is read ahead.
        for (;;) yield new Uint8Array(64 * 1024);
      } finally {
        isClosed = true;
      }
    }
    for await (const { path, bytes } of readEntries(source(), { archive: "x.gz" })) {
      for await (const _ of bytes) break;
      if (path === "b") break;
    }
    assert.ok(isClosed, "the source is closed");
  });
});
