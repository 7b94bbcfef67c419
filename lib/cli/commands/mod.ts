import type { AddCommand } from "../command.ts";

/** Every command by name, in the order of `--help`. Loaded one by one: a command starts sooner. */
export const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import("./serve.ts")).serveCommand,
  up: async () => (await import("./up.ts")).upCommand,
  demo: async () => (await import("./demo.ts")).demoCommand,
  migrate: async () => (await import("./migrate.ts")).migrateCommand,
  org: async () => (await import("./org.ts")).orgCommands,
  repo: async () => (await import("./repo.ts")).repoCommands,
  token: async () => (await import("./token.ts")).tokenCommands,
  ingest: async () => (await import("./ingest.ts")).ingestCommand,
  upload: async () => (await import("./upload.ts")).uploadCommand,
  receive: async () => (await import("./receive.ts")).receiveCommand,
  flaky: async () => (await import("./flaky.ts")).flakyCommand,
  watch: async () => (await import("./watch.ts")).watchCommand,
  digest: async () => (await import("./digest.ts")).digestCommand,
  gate: async () => (await import("./gate.ts")).gateCommand,
  submission: async () => (await import("./submission.ts")).submissionCommands,
  quarantine: async () => (await import("./quarantine.ts")).quarantineCommands,
  prune: async () => (await import("./prune.ts")).pruneCommand,
  mcp: async () => (await import("./mcp.ts")).mcpCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  healthcheck: async () => (await import("./healthcheck.ts")).healthcheckCommand,
  backup: async () => (await import("./backup.ts")).backupCommand,
  export: async () => (await import("./export.ts")).exportCommand,
  import: async () => (await import("./import.ts")).importCommand,
  completion: async () => (await import("./completion.ts")).completionCommand,
};
