# syntax=docker/dockerfile:1

# All packages and the sources: what compose.yaml runs in development, and what is compiled for production.
FROM node:24-slim AS development
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/hindsight/package.json ./packages/hindsight/
COPY packages/hindsight/bin ./packages/hindsight/bin
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json build.js ./
COPY packages/hindsight/packaging ./packages/hindsight/packaging
COPY packages/hindsight/src ./packages/hindsight/src
COPY app ./app
COPY lib ./lib
COPY plugins ./plugins
COPY routes ./routes
RUN npm run build

# The packages of production.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/hindsight/package.json ./packages/hindsight/
COPY packages/hindsight/bin ./packages/hindsight/bin
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    HEALTH=on \
    DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=dependencies /app/packages ./packages
COPY --from=development /app/packages/hindsight/dist ./packages/hindsight/dist
COPY --from=development /app/dist ./dist
COPY package.json ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node.js itself and not npm: it receives the signals.
CMD ["node", "dist/app/server.js"]
