import initial from "./0001_initial.sql" with { type: "text" };
import archives from "./0002_archives.sql" with { type: "text" };
import additions from "./0003_additions.sql" with { type: "text" };
import fewerBytes from "./0004_fewer_bytes.sql" with { type: "text" };
import packedDurations from "./0005_packed_durations.sql" with { type: "text" };
import digestsAndTags from "./0006_digests_and_tags.sql" with { type: "text" };

/**
 * What brings an empty database to this program's schema, in order; the position counts the version.
 * Append-only: what was released stays as it is.
 */
export const migrations: readonly string[] = [
  initial,
  archives,
  additions,
  fewerBytes,
  packedDurations,
  digestsAndTags,
];
