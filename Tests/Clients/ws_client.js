// Node's `ws` against the gateway: see scripts/try-clients.
"use strict";
const fs = require("fs");
const crypto = require("crypto");
const WebSocket = require("ws");
const version = require("ws/package.json").version;

const [port, ca, certificate, key, offers] = process.argv.slice(2);
const address = `wss://localhost:${port}/?cols=100&x=[1]|{2}`;
let checks = 0;

function check(holds, what) {
  if (!holds) throw new Error(what);
  checks += 1;
}

function open(credentials) {
  return new WebSocket(address, ["telnet"], {
    ca: fs.readFileSync(ca),
    perMessageDeflate: offers === "1",
    ...credentials,
  });
}

function once(emitter, event) {
  return new Promise((resolve, reject) => {
    emitter.once(event, (...values) => resolve(values));
    if (event !== "error") emitter.once("error", reject);
  });
}

async function play() {
  const socket = open({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) });
  let received = Buffer.alloc(0);
  let look = () => {};
  socket.on("message", (data) => {
    received = Buffer.concat([received, data]);
    look();
  });
  // The target's echo is a stream of bytes: it may come in other pieces.
  const echo = (...messages) => {
    const expected = Buffer.concat(messages.map((each) => Buffer.from(each)));
    return new Promise((resolve, reject) => {
      socket.once("close", (code) => reject(new Error(`closed with ${code}`)));
      look = () => {
        if (received.length < expected.length) return;
        const isEqual = received.equals(expected);
        received = Buffer.alloc(0);
        resolve(isEqual);
      };
      for (const message of messages) socket.send(message);
    });
  };
  await once(socket, "open");
  check(socket.protocol === "telnet", "the subprotocol");
  check(await echo("look"), "a text message");
  check(await echo("Grüße, 世界 🏰\r\n"), "UTF-8");
  check(await echo(Buffer.from([...Array(255).keys()])), "a binary message");
  check(await echo(crypto.randomBytes(65_536)), "a message as large as allowed");
  check(await echo("look around ".repeat(5_000)), "a long message that compresses well");
  check(await echo(...Array.from({ length: 300 }, (_, number) => `line ${number}\r\n`)), "300 messages");
  check(await echo("", "behind an empty message"), "an empty message");
  const fragments = new Promise((resolve) => {
    look = () => received.length >= 16 && resolve();
  });
  socket.send("in ", { fin: false });
  socket.send("two fragments", { fin: true });
  await fragments;
  check(received.toString() === "in two fragments", "fragments");
  const pong = once(socket, "pong");
  socket.ping("are you there?");
  check((await pong)[0].toString() === "are you there?", "a pong");
  const extensions = socket.extensions || "-";
  const closed = once(socket, "close");
  socket.close(1000, "done");
  check((await closed)[0] === 1000, "the close code");

  const stranger = open({});
  const [, response] = await once(stranger, "unexpected-response");
  check(response.statusCode === 401, `a refusal with ${response.statusCode}`);
  check(response.headers["x-refusal-code"] === "app_auth_required", "the refusal's code");
  console.log(`${version}\t${extensions}\t${checks}`);
}

setTimeout(() => {
  console.error("ws: it takes too long");
  process.exit(1);
}, 120_000).unref();
play().then(
  () => process.exit(0),
  (error) => {
    console.error(`ws: ${error.message}`);
    process.exit(1);
  },
);
