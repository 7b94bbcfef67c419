import { after, before, beforeEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fs from "node:fs";
import { DiskRoom } from "../../../lib/storage/disk_room.ts";
import { isSystemFault } from "../../../lib/intake/system_fault.ts";

const MEGABYTE = 1024 * 1024;

describe("the room on the disk of an inbox", () => {
  const { statfsSync } = fs;
  let freeMegabytes = 0;
  let room: DiskRoom;
  const isRefused = (act: () => unknown) => assert.throws(act, { name: "DiskFullError" });
  /** Takes 60 MB of room to process. */
  const archive = { size: 1, content: { testCount: 100_000 * 1.048576, textBytes: 0 } };

  before(() => {
    Object.assign(fs, { statfsSync: () => ({ bavail: freeMegabytes, bsize: MEGABYTE }) });
  });
  after(() => void Object.assign(fs, { statfsSync }));
  beforeEach(() => {
    room = new DiskRoom("/data", 64 * MEGABYTE);
  });

  it("ends before the embedded database refuses writes", () => {
    freeMegabytes = 80;
    room.receive().end();
    freeMegabytes = 79;
    isRefused(() => room.receive());
    assert.throws(() => room.check(), (error) => {
      assert.ok(error instanceof Error && isSystemFault(error), "the client repeats the upload");
      assert.match(
        error.message,
        /^the disk of "\/data" is almost full: 79 MB are free, .* 80 MB$/,
      );
      return true;
    });
  });

  it("is kept for archives that wait, until they are gone", () => {
    freeMegabytes = 204;
    room.receive().accept("a.gz", archive);
    room.receive().accept("b.gz", archive);
    assert.equal(Math.round(room.neededBytes / MEGABYTE), 200);
    isRefused(() => room.receive().accept("c.gz", archive));
    assert.equal(Math.round(room.neededBytes / MEGABYTE), 200, "nothing is kept for a refused one");
    room.release("a.gz");
    room.receive().accept("c.gz", archive);
  });

  it("is kept for bodies that come", () => {
    freeMegabytes = 92;
    const receiving = room.receive();
    receiving.addBytes(10 * MEGABYTE);
    assert.equal(room.neededBytes, 90 * MEGABYTE);
    isRefused(() => receiving.addBytes(4 * MEGABYTE));
    receiving.end();
    receiving.end();
    assert.equal(room.neededBytes, 80 * MEGABYTE);
  });

  it("counts the body of an accepted upload as free: it is removed next", () => {
    freeMegabytes = 150;
    const receiving = room.receive();
    receiving.addBytes(10 * MEGABYTE);
    freeMegabytes = 129;
    isRefused(() => receiving.accept("a.gz", archive));
    const another = room.receive();
    another.addBytes(10 * MEGABYTE);
    freeMegabytes = 131;
    another.accept("b.gz", archive);
  });

  it("is kept for archives of an earlier process by their size", () => {
    freeMegabytes = 300;
    room.reserve("a.gz", { size: 3 * MEGABYTE, content: null });
    assert.equal(room.neededBytes, (80 + 192) * MEGABYTE);
    room.receive().end();
    freeMegabytes = 271;
    isRefused(() => room.receive());
  });

  it("is released for archives that were deleted by hand, not for one that is just being stored", async () => {
    freeMegabytes = 300;
    for (const key of ["a.gz", "b.gz", "c.gz"]) {
      room.reserve(key, { size: MEGABYTE, content: null });
    }
    const files = ["a.gz"];
    const check = () => room.releaseMissing((key) => Promise.resolve(files.includes(key)));
    await check();
    assert.equal(room.neededBytes, (80 + 3 * 64) * MEGABYTE);
    files.push("b.gz");
    await check();
    assert.equal(room.neededBytes, (80 + 2 * 64) * MEGABYTE);
  });

  it("is a margin alone where the database is elsewhere", () => {
    room = new DiskRoom("/data", null);
    freeMegabytes = 16;
    room.receive().accept("a.gz", archive);
    assert.equal(room.neededBytes, 16 * MEGABYTE);
    freeMegabytes = 15;
    isRefused(() => room.receive());
  });
});
