/** Gives readers one damaged file after the other. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { ReportError } from "../../../../lib/report/report_error.ts";
import { mutate, Random } from "./mutator.ts";
import { threadMs } from "../../../thread_time.ts";
import { FILE, type Subject } from "./subjects.ts";

/** A damaged file and its processor time, in milliseconds. */
interface Slowest {
  milliseconds: number;
  bytes: Uint8Array;
}

/** What became of the damaged files. */
export interface Outcome {
  readCount: number;
  refusedCount: number;
  slowest: Slowest;
}

/** A damaged file that a reader did not take as it should. */
export class MutantError extends Error {
  override readonly name = "MutantError";
  readonly bytes: Uint8Array;

  constructor(subject: string, { seed, bytes, cause }: {
    seed: number;
    bytes: Uint8Array;
    cause: unknown;
  }) {
    const reason = cause instanceof Error ? cause.stack : String(cause);
    super(`${subject}: mutant of seed ${seed}: ${reason}`, { cause });
    this.bytes = bytes;
  }
}

/** Processor time for a file of a few kilobytes that no slow machine needs. */
const MAX_MILLISECONDS = 5_000;

// A byte at a time takes long and shows no more than two.
const PIECE_BYTES = [2, 3, 7, 64, 1_000];

/**
 * Damages fixtures and has them read, in one piece and in small ones.
 *
 * @param options.seed that of the first damaged file; the others follow by 1
 * @throws {MutantError} for the first that is neither read nor clearly refused, that takes too long,
 * or of which something else is read in other pieces
 */
export async function tryMutants(
  subject: Subject,
  { count, seed, onProgress }: {
    count: number;
    seed: number;
    onProgress?(count: number): void;
  },
): Promise<Outcome> {
  const fixtures = await subject.fixtures();
  assert.ok(fixtures.length > 0, `no fixtures of ${subject.name}`);
  const outcome: Outcome = {
    readCount: 0,
    refusedCount: 0,
    slowest: { milliseconds: 0, bytes: new Uint8Array() },
  };
  for (let n = 0; n < count; n++) {
    const random = new Random(seed + n);
    const bytes = mutate(random.of(fixtures), random, fixtures);
    try {
      const started = threadMs();
      const whole = await read(subject, bytes, 64 * 1024);
      const inChunks = await read(subject, bytes, random.of(PIECE_BYTES));
      const milliseconds = threadMs() - started;
      assert.ok(
        isDeepStrictEqual(inChunks, whole),
        `in one piece: ${show(whole)}, in small ones: ${show(inChunks)}`,
      );
      assert.ok(milliseconds < MAX_MILLISECONDS, `took ${milliseconds} ms`);
      if (milliseconds > outcome.slowest.milliseconds) outcome.slowest = { milliseconds, bytes };
      if ("refused" in whole) outcome.refusedCount++;
      else outcome.readCount++;
    } catch (cause) {
      throw new MutantError(subject.name, { seed: seed + n, bytes, cause });
    }
    onProgress?.(n + 1);
  }
  return outcome;
}

async function read(
  subject: Subject,
  bytes: Uint8Array,
  chunkBytes: number,
): Promise<{ value: unknown } | { refused: string }> {
  try {
    return { value: await subject.read(bytes, chunkBytes) };
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    const { message, kind } = error;
    assert.ok(message.startsWith(FILE), `the file is not named: ${message}`);
    assert.match(message, /found|expected/);
    assert.ok(message.length < 1_000 && !/[\n\r]/.test(message), `no short line: ${message}`);
    // A name without end that is no name either: which of the two shows first depends on the pieces.
    return { refused: ["limit", "too-long"].includes(kind) ? "malformed" : kind };
  }
}

const show = (value: unknown): string => JSON.stringify(value).slice(0, 2_000);
