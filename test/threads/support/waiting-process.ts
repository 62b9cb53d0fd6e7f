/** Says what it is told. */
process.on('message', (told) => process.send?.(told));
