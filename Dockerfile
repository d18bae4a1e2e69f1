# syntax=docker/dockerfile:1

# All packages and the sources: what compose.yaml runs in development, and what is compiled for production.
FROM node:24-slim AS development
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY app ./app
COPY bin ./bin
COPY cli ./cli
COPY lib ./lib
COPY packaging ./packaging
COPY plugins ./plugins
COPY routes ./routes
RUN npm run build

# The packages of production, with the versions of the lockfile: Fastify, which is a peer, and the optional peers that STORAGE_URL=postgres://… needs.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm pkg delete devDependencies peerDependenciesMeta.pg peerDependenciesMeta.connect-pg-simple
RUN npm install --ignore-scripts --no-audit --no-fund

FROM node:24-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    HEALTH=on \
    DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=development /app/dist ./dist
COPY package.json ./
COPY bin ./bin
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node.js itself and not npm: it receives the signals.
CMD ["node", "dist/app/server.js"]
