import type { Database } from "../db/connection/connect.ts";
import { storeSubmission, type Upload } from "../db/write/store_submission.ts";
import { writeTransaction } from "../db/write/transaction.ts";

/** Stores an upload to a repository that exists, in a transaction. */
export function commitSubmission(
  sql: Database["sql"],
  upload: Upload,
): ReturnType<typeof storeSubmission> {
  return writeTransaction(sql, (tx) => storeSubmission(tx, upload));
}
