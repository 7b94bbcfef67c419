import { after, before, beforeEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fs from "node:fs";
import { DiskRoom } from "../../../lib/storage/disk_room.ts";
import { isOutage } from "../../../lib/storage/storage.ts";

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
    room = new DiskRoom("/data", { hasDatabase: true });
  });

  it("ends before the embedded database refuses writes", () => {
    freeMegabytes = 96;
    room.receive().end();
    freeMegabytes = 95;
    isRefused(() => room.receive());
    assert.throws(() => room.check(), (error) => {
      assert.ok(error instanceof Error && isOutage(error), "the client repeats the upload");
      assert.match(
        error.message,
        /^the disk of "\/data" is almost full: 95 MB are free, .* 96 MB$/,
      );
      return true;
    });
  });

  it("is kept for archives that wait, until they are gone", () => {
    freeMegabytes = 220;
    room.receive().accept("a.gz", archive);
    room.receive().accept("b.gz", archive);
    assert.equal(Math.round(room.neededBytes / MEGABYTE), 216);
    isRefused(() => room.receive().accept("c.gz", archive));
    assert.equal(Math.round(room.neededBytes / MEGABYTE), 216, "nothing is kept for a refused one");
    room.release("a.gz");
    room.receive().accept("c.gz", archive);
  });

  it("is kept for bodies that come, and for their archives", () => {
    freeMegabytes = 120;
    const receiving = room.receive();
    receiving.addBytes(10 * MEGABYTE);
    assert.equal(room.neededBytes, 116 * MEGABYTE);
    isRefused(() => receiving.addBytes(4 * MEGABYTE));
    receiving.end();
    receiving.end();
    assert.equal(room.neededBytes, 96 * MEGABYTE);
  });

  it("is kept for archives of an earlier process by their size", () => {
    freeMegabytes = 300;
    room.reserve("a.gz", { size: 3 * MEGABYTE, content: null });
    assert.equal(room.neededBytes, (96 + 192) * MEGABYTE);
    room.receive().end();
    freeMegabytes = 287;
    isRefused(() => room.receive());
  });

  it("is a margin alone where the database is elsewhere", () => {
    room = new DiskRoom("/data", { hasDatabase: false });
    freeMegabytes = 32;
    room.receive().accept("a.gz", archive);
    assert.equal(room.neededBytes, 32 * MEGABYTE);
    freeMegabytes = 31;
    isRefused(() => room.receive());
  });
});
