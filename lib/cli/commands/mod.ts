import type { AddCommand } from "../command.ts";
import { backupCommand } from "./backup.ts";
import { demoCommand } from "./demo.ts";
import { doctorCommand } from "./doctor.ts";
import { healthcheckCommand } from "./healthcheck.ts";
import { ingestCommand } from "./ingest.ts";
import { mcpCommand } from "./mcp.ts";
import { migrateCommand } from "./migrate.ts";
import { orgCommands } from "./org.ts";
import { pruneCommand } from "./prune.ts";
import { quarantineCommands } from "./quarantine.ts";
import { repoCommands } from "./repo.ts";
import { serveCommand } from "./serve.ts";
import { submissionCommands } from "./submission.ts";
import { tokenCommands } from "./token.ts";
import { uploadCommand } from "./upload.ts";
import { watchCommand } from "./watch.ts";

/** All commands, in the order of `--help`. */
export const COMMANDS: readonly AddCommand[] = [
  serveCommand,
  demoCommand,
  migrateCommand,
  orgCommands,
  repoCommands,
  tokenCommands,
  ingestCommand,
  uploadCommand,
  watchCommand,
  submissionCommands,
  quarantineCommands,
  pruneCommand,
  mcpCommand,
  doctorCommand,
  healthcheckCommand,
  backupCommand,
];
