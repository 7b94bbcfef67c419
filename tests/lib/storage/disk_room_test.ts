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

  before(() => {
    Object.assign(fs, { statfsSync: () => ({ bavail: freeMegabytes, bsize: MEGABYTE }) });
  });
  after(() => void Object.assign(fs, { statfsSync }));
  beforeEach(() => {
    room = new DiskRoom("/data", 80 * MEGABYTE);
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

  it("is little where the database is elsewhere", () => {
    room = new DiskRoom("/data");
    freeMegabytes = 16;
    room.receive().end();
    freeMegabytes = 15;
    isRefused(() => room.receive());
  });
});
