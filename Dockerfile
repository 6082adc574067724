FROM node:20-slim
WORKDIR /app
COPY . .
RUN node -e "import('./tools/workspace.mjs').then(({ prepare }) => prepare())"
USER node
CMD ["node", "examples/demo/src/main.js"]
