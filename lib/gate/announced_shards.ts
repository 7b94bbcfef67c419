// Tests: tests/lib/gate/whole_build_test.ts
/** The shards of a job that the names of others announce: `1/3` is one of three. */
import type { BuildRun } from "../analysis/build_outcome.ts";

type Upload = Pick<
  BuildRun,
  "submissionId" | "job" | "workflow" | "environment" | "shard" | "attempt"
>;

interface Shard {
  index: number;
  total: number;
}

/** `2/8` as CI services and options number it, from 1 or 0; `null` for another name, such as the date `30/11`. */
export function parseShard(name: string): Shard | null {
  const [, index, total] = /^(\d{1,4})\/(\d{1,4})$/.exec(name) ?? [];
  const shard = { index: Number(index), total: Number(total) };
  return shard.total > 0 && shard.index <= shard.total ? shard : null;
}

/** The uploads of shards with one total, such as `1/3` and `2/3`. */
interface Split extends Pick<Shard, "total"> {
  /** `null`: each shard has its own. */
  environment: string | null;
  uploads: Upload[];
  indexes: ReadonlySet<number>;
}

/** The shards of a job that have no upload. */
interface MissingShards extends Pick<Shard, "total"> {
  job: string;
  names: string[];
}

/**
 * The announced shards of the jobs of a build that have no upload. None is missing if the job ran again in the same
 * environment with all shards of another total.
 *
 * @param usual the shards of its jobs on the base branch, which tell whether they are counted from 0
 */
export function missingAnnounced(
  uploads: readonly Upload[],
  usual: readonly { job: string; shards: readonly string[] }[],
): MissingShards[] {
  const jobs = Map.groupBy(uploads, ({ job, workflow }) => JSON.stringify([job, workflow]));
  return [...jobs.values()].flatMap((ofJob) => {
    const { job } = ofJob[0]!;
    const usualShards = usual.filter((one) => one.job === job).flatMap(({ shards }) => shards);
    const splits = splitsOf(ofJob).map((split) => {
      const { total, indexes } = split;
      const isFrom0 = indexes.has(0) || usualShards.some((name) => {
        const shard = parseShard(name);
        return shard?.total === total && shard.index === 0;
      });
      const all = Array.from({ length: total }, (_, index) => isFrom0 ? index : index + 1);
      const missing = all.filter((index) => !indexes.has(index));
      return { ...split, job, names: missing.map((index) => `${index}/${total}`) };
    });
    const complete = splits.filter(({ names }) => names.length === 0);
    const isRepeated = ({ environment, uploads }: Split) =>
      complete.some((other) =>
        [null, environment].includes(other.environment) && isLater(other.uploads, uploads)
      );
    return splits.filter((split) => split.names.length > 0 && !isRepeated(split));
  });
}

function splitsOf(ofJob: readonly Upload[]): Split[] {
  const totals = Map.groupBy(ofJob, ({ shard }) => parseShard(shard)?.total);
  return [...totals].flatMap(([total, ofTotal]) => {
    if (total === undefined) return [];
    const split = (environment: string | null, uploads: Upload[]) => {
      const indexes = new Set(uploads.map(({ shard }) => parseShard(shard)!.index));
      return { total, environment, uploads, indexes };
    };
    const byEnvironment = Array.from(
      Map.groupBy(ofTotal, ({ environment }) => environment),
      ([environment, uploads]) => split(environment, uploads),
    );
    // A matrix variable that numbers the shards under a name of its own is part of the environment.
    const isNumbered = byEnvironment.every(({ indexes }) => indexes.size === 1);
    return isNumbered ? [split(null, ofTotal)] : byEnvironment;
  });
}

/** Whether each of some uploads is of a later attempt than each of others; by their time where it is unknown. */
function isLater(uploads: readonly Upload[], others: readonly Upload[]): boolean {
  const isNumber = ({ attempt }: Upload) => /^\d+$/.test(attempt);
  return uploads.every((a) =>
    others.every((b) =>
      isNumber(a) && isNumber(b)
        ? Number(a.attempt) > Number(b.attempt)
        : a.submissionId > b.submissionId
    )
  );
}
