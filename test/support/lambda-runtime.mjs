// Lambda's runtime for Node.js, as far as a function that streams sees it. Its argument is the
// function's module; events come in as messages, and what is streamed goes out as messages, for its
// prints are the function's.
import { Writable } from 'node:stream';

class ResponseStream extends Writable {
  /** Sends what goes before the first write, as the real one does. */
  onFirstWrite = () => {};

  write(...args) {
    this.onFirstWrite();
    this.onFirstWrite = () => {};
    return super.write(...args);
  }

  _write(chunk, _encoding, done) {
    process.send({ chunk: chunk.toString('utf8') });
    done();
  }
}

globalThis.awslambda = {
  streamifyResponse: (handler) => handler,
  HttpResponseStream: {
    from(stream, metadata) {
      stream.onFirstWrite = () => process.send({ metadata });
      return stream;
    },
  },
};

const { handler } = await import(process.argv[2]);
process.on('message', (event) => {
  // An error that it throws ends the process, as it ends an instance of the function.
  void handler(event, new ResponseStream(), {}).then(() => process.send({ isEnd: true }));
});
