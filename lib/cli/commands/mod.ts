import type { AddCommand } from "../command.ts";
import { addBackupCommand } from "./backup.ts";
import { addDemoCommand } from "./demo.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addHealthcheckCommand } from "./healthcheck.ts";
import { addIngest } from "./ingest.ts";
import { addMcpCommand } from "./mcp.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addOrgCommands } from "./org.ts";
import { addPruneCommand } from "./prune.ts";
import { addQuarantineCommands } from "./quarantine.ts";
import { addRepoCommands } from "./repo.ts";
import { addServeCommand } from "./serve.ts";
import { addSubmissionCommands } from "./submission.ts";
import { addTokenCommands } from "./token.ts";
import { addUpload } from "./upload.ts";
import { addWatch } from "./watch.ts";

/** All commands, in the order of `--help`. */
export const COMMANDS: readonly AddCommand[] = [
  addServeCommand,
  addDemoCommand,
  addMigrateCommand,
  addOrgCommands,
  addRepoCommands,
  addTokenCommands,
  addIngest,
  addUpload,
  addWatch,
  addSubmissionCommands,
  addQuarantineCommands,
  addPruneCommand,
  addMcpCommand,
  addDoctorCommand,
  addHealthcheckCommand,
  addBackupCommand,
];
