// deno-lint-ignore-file no-console -- a program of its own
/**
 * A peer: PostGraphile 5 over the same tables. Arguments: address of the database. Prints its own
 * address.
 */
import { createServer } from "node:http";
import { grafserv } from "postgraphile/grafserv/node";
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { postgraphile } from "postgraphile";

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [
    makePgService({
      connectionString: process.argv[2],
      schemas: ["public"],
      poolConfig: { max: 4 },
    }),
  ],
  grafserv: { graphiql: false, watch: false },
});
const server = createServer();
await instance.createServ(grafserv).addTo(server);
server.listen(0, "127.0.0.1", () => {
  console.error(`listening on http://127.0.0.1:${server.address().port}`);
});
